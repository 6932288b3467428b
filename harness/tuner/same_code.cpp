#include "tuner/same_code.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "space/plan.h"

namespace assay {

bool is_same_code(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device,
                  const Config& a, const std::string& cubin_hash_a, const Config& b,
                  const std::string& cubin_hash_b) {
  if (cubin_hash_a.empty() || cubin_hash_a != cubin_hash_b) return false;
  try {
    Plan plan = make_plan(kernel, problem, a, device);
    plan.config = b;
    return plan == make_plan(kernel, problem, b, device);
  } catch (const PlanError&) {
    return false;
  }
}

void keep_one_of_each_code(std::vector<Candidate>& correct, const Problem& problem,
                           const DeviceInfo& device) {
  std::ranges::sort(correct, [](const Candidate& a, const Candidate& b) {
    const auto key = [](const Candidate& candidate) {
      return std::tuple(!candidate.same_as.empty(), candidate.censored, candidate.median_ns);
    };
    if (key(a) != key(b)) return key(a) < key(b);
    return to_text(a.config) < to_text(b.config);
  });
  std::multimap<std::pair<const KernelSpec*, std::string>, Config> kept;
  std::erase_if(correct, [&](const Candidate& candidate) {
    const std::string& hash = candidate.compile.cubin_hash;
    const std::pair key(candidate.kernel, hash);
    const auto [begin, end] = kept.equal_range(key);
    const bool is_another = std::any_of(begin, end, [&](const auto& other) {
      return is_same_code(*candidate.kernel, problem, device, candidate.config, hash, other.second,
                          hash);
    });
    if (!is_another) kept.emplace(key, candidate.config);
    return is_another;
  });
}

}  // namespace assay
