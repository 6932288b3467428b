#include "space/features.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/find_named.h"

namespace assay {
namespace {

constexpr float kNoAnswer = std::numeric_limits<float>::lowest();
// What an SM holds: blocks, threads, and the shared memory that one block may ask for with what is
// reserved for each block.
constexpr std::int64_t kBlocksOfSm = 32, kThreadsOfSm = 2048, kReservedBytes = 1024;

}  // namespace

Features::Features(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device)
    : kernel_(kernel), device_(device), bindings_(kernel, problem, device) {
  const auto add = [&](const std::string& name) {
    of_problem_.push_back(static_cast<float>(to_real(*find_value(problem, name))));
  };
  for (const std::string& dim : kernel.dims) add(dim);
  for (const auto& [trait, otherwise] : kernel.traits) add(trait);
  for (const ParamSpec& param : kernel.params) {
    param_slots_.push_back(kernel.symbols.find(param.name));
  }
  for (const LetSpec& let : kernel.lets) let_slots_.push_back(kernel.symbols.find(let.name));
}

std::size_t Features::count() const {
  return of_problem_.size() + param_slots_.size() + let_slots_.size() + kNumOfLaunch;
}

bool Features::append(const Config& config, std::vector<float>& to) {
  if (config.size() != kernel_.params.size()) return false;
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < config.size(); ++i) {
    const auto& [name, value] = config[i];
    const auto* word = std::get_if<std::string>(&value);
    if (name != kernel_.params[i].name || (word && kernel_.symbols.find(*word) < 0)) return false;
    values.push_back(slot_value(kernel_, value));
  }
  to.insert(to.end(), of_problem_.begin(), of_problem_.end());
  for (std::size_t i = 0; i < values.size(); ++i) {
    bindings_.set(param_slots_[i], values[i]);
    to.push_back(static_cast<float>(values[i]));
  }
  for (std::size_t i = 0; i < let_slots_.size(); ++i) {
    bindings_.set_let(let_slots_[i], kernel_.lets[i].value.expr);
    const std::optional<std::int64_t> let = bindings_.let(let_slots_[i]);
    to.push_back(let ? static_cast<float>(*let) : kNoAnswer);
  }
  append_launch(to);
  return true;
}

/// Blocks that an SM holds, as far as threads and shared memory allow; the waves in which the
/// blocks run; how full these are, which jumps where one more block begins another wave; and SMs in
/// use.
void Features::append_launch(std::vector<float>& to) const {
  if (kernel_.launches.empty()) {
    to.insert(to.end(), kNumOfLaunch, kNoAnswer);
    return;
  }
  try {
    const LaunchSpec& launch = kernel_.launches.front();
    const auto product = [&](const std::vector<ExprSpec>& extents) {
      std::int64_t of_all = 1;
      for (const ExprSpec& extent : extents)
        of_all *= std::max<std::int64_t>(1, bindings_.eval(extent.expr));
      return of_all;
    };
    const std::int64_t smem_bytes =
        launch.smem_bytes ? std::max<std::int64_t>(0, bindings_.eval(launch.smem_bytes->expr)) : 0;
    const std::int64_t held = std::clamp<std::int64_t>(
        std::min((device_.smem_optin_bytes + kReservedBytes) / (smem_bytes + kReservedBytes),
                 kThreadsOfSm / product(launch.block)),
        1, kBlocksOfSm);
    const double num_sms = std::max(device_.sm_count, 1);
    const auto blocks = static_cast<double>(product(launch.grid));
    const double waves = blocks / (static_cast<double>(held) * num_sms);
    for (const double each : {static_cast<double>(held), std::ceil(waves), waves / std::ceil(waves),
                              std::min(blocks, num_sms)}) {
      to.push_back(static_cast<float>(each));
    }
  } catch (const EvalError&) {  // it asks for a pass, or for a let without an answer
    to.insert(to.end(), kNumOfLaunch, kNoAnswer);
  }
}

}  // namespace assay
