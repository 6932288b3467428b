#include "space/small_problem.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/find_named.h"
#include "base/interrupt.h"
#include "space/plan.h"
#include "space/space.h"

namespace assay {
namespace {

// Most tries end at a constraint. A shipped kernel's winner takes 0.15 s in all, at most.
constexpr int kMostTries = 4096;

/// What a size or trait may be, from the smoke problem's to the problem's.
std::vector<Number> values_between(const Number& smoke, const Number& last) {
  std::vector<Number> values = {smoke};
  const auto* first = std::get_if<std::int64_t>(&smoke);
  const auto* end = std::get_if<std::int64_t>(&last);
  if (first != nullptr && end != nullptr && *first > 0) {
    for (std::int64_t value = *first; value < *end - value; value *= 2) {
      values.emplace_back(2 * value);
    }
  }
  if (last != smoke) values.push_back(last);
  return values;
}

/// Tries problems, those with the fewest steps from value to value first.
class SmallProblems {
 public:
  SmallProblems(const KernelSpec& kernel, const Problem& problem, const Config& config,
                const DeviceInfo& device)
      : kernel_(kernel), problem_(problem), config_(config), device_(device), tried_(problem) {
    for (std::size_t i = 0; i < problem.size(); ++i) {
      values_.push_back(values_between(kernel.smoke[i].second, problem[i].second));
    }
    most_steps_.assign(values_.size() + 1, 0);
    for (std::size_t i = values_.size(); i-- > 0;) {
      most_steps_[i] = most_steps_[i + 1] + values_[i].size() - 1;
    }
  }

  std::optional<Problem> first_that_runs() {
    for (std::size_t steps = 0; steps <= most_steps_[0]; ++steps) {
      if (found(0, steps)) return tried_;
    }
    return std::nullopt;
  }

 private:
  /// Of those that take `steps` steps from the name `at` on.
  bool found(std::size_t at, std::size_t steps) {
    if (steps > most_steps_[at] || num_tries_ == kMostTries) return false;
    if (at == values_.size()) return can_run();
    for (std::size_t i = 0; i < values_[at].size() && i <= steps; ++i) {
      tried_[at].second = values_[at][i];
      if (found(at + 1, steps - i)) return true;
    }
    return false;
  }

  bool can_run() {
    check_interrupt();
    ++num_tries_;
    if (tried_ == problem_ && problem_ != kernel_.smoke) return false;
    return obstacle(kernel_, tried_, config_, device_).empty();
  }

  const KernelSpec& kernel_;
  const Problem& problem_;
  const Config& config_;
  const DeviceInfo& device_;
  std::vector<std::vector<Number>> values_;  // of each name
  std::vector<std::size_t> most_steps_;      // from each name on
  Problem tried_;
  int num_tries_ = 0;
};

}  // namespace

std::string obstacle(const KernelSpec& kernel, const Problem& problem, const Config& config,
                     const DeviceInfo& device) try {
  const auto broken = Space(kernel, problem, device).broken_constraint(config);
  if (broken) return fmt::format("{} breaks {}", to_text(problem), *broken);
  make_plan(kernel, problem, config, device);
  return "";
} catch (const UsageError& error) {
  return error.what();
} catch (const PlanError& error) {
  return fmt::format("{}: {}", to_text(problem), error.what());
}

std::optional<Problem> small_problem(const KernelSpec& kernel, const Problem& problem,
                                     const Config& config, const DeviceInfo& device) {
  Problem own = kernel.smoke;  // of a sweep's other kernels a problem may have more names
  for (auto& [name, value] : own) {
    const Number* const given = find_value(problem, name);
    if (given == nullptr) return std::nullopt;
    value = *given;
  }
  return SmallProblems(kernel, own, config, device).first_that_runs();
}

}  // namespace assay
