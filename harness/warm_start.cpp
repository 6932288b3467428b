#include "warm_start.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace assay {
namespace {

constexpr std::size_t kNumProblems = 5, kNumWinners = 2;

/// How far a problem is: the sum of the logarithms of the sizes' ratios. Sizes that one of the two
/// lacks, or that are not positive, do not count.
double distance(const Problem& a, const Problem& b) {
  double sum = 0;
  for (const auto& [name, value] : a) {
    for (const auto& [other_name, other] : b) {
      if (name != other_name || to_real(value) <= 0 || to_real(other) <= 0) continue;
      sum += std::abs(std::log(to_real(value) / to_real(other)));
    }
  }
  return sum;
}

}  // namespace

std::vector<Config> known_winners(const Store& store, const KernelSpec& kernel,
                                  const Problem& problem) {
  Filter filter;
  filter.kernel = kernel.name;
  filter.status = to_text(Status::correct);
  using Timed = std::pair<double, Config>;
  // Times on different devices or under different protocols are not compared.
  std::map<std::pair<double, std::string>, std::vector<Timed>> by_distance;
  for (const TrialRow& row : store.trials(filter)) {
    const TrialRecord& trial = row.record;
    if (!trial.outcome.timing || trial.outcome.timing->censored()) continue;
    by_distance[{distance(problem, trial.problem),
                 to_text(trial.problem) + ' ' + row.device.name + ' ' + trial.protocol.name}]
        .emplace_back(trial.outcome.timing->median_ns, trial.config);
  }
  std::vector<std::vector<Timed>> nearest;
  for (auto& [where, timed] : by_distance) {
    if (nearest.size() == kNumProblems) break;
    std::stable_sort(timed.begin(), timed.end(),
                     [](const Timed& a, const Timed& b) { return a.first < b.first; });
    nearest.push_back(std::move(timed));
  }
  std::vector<Config> winners;
  for (std::size_t place = 0; place < kNumWinners; ++place) {
    for (const std::vector<Timed>& timed : nearest) {
      if (place < timed.size()) winners.push_back(timed[place].second);
    }
  }
  return winners;
}

}  // namespace assay
