#include "tuner/proposals.h"

#include <algorithm>

#include "search/refine.h"

namespace assay {
namespace {

std::vector<int> num_values_of(const Space& space) {
  std::vector<int> num_values;
  for (const ParamSpec& param : space.params()) {
    num_values.push_back(static_cast<int>(param.values.size()));
  }
  return num_values;
}

}  // namespace

Proposals::Proposals(SweepRun& run, const KernelSpec& kernel, const Problem& problem)
    : run_(run),
      kernel_(kernel),
      problem_(problem),
      space_(kernel, problem, run.device.info()),
      features_(kernel, problem, run.device.info()),
      points_(num_values_of(space_)) {
  if (!kernel.lets.empty()) {
    points_.describe_by([this](std::size_t index) {
      std::vector<float> row;
      features_.append(config(index), row);
      return row;
    });
  }
  const auto* const drawn = run.drawn_points(kernel, problem);
  is_drawn_ = drawn != nullptr;
  const auto add = [this](const std::vector<int>& point) { return points_.add(point), true; };
  if (is_drawn_) std::ranges::for_each(*drawn, add);
  if (!is_drawn_) space_.for_each(add);
}

void Proposals::start_warm() {
  warm_start_.emplace(run_.store, kernel_, problem_, run_.device.info(), space_, points_);
}

std::size_t Proposals::num_to_try() const {
  const std::optional<std::int64_t>& budget = run_.sweep.search.budget_configs;
  return budget ? std::min(points_.size(), static_cast<std::size_t>(*budget)) : points_.size();
}

std::size_t Proposals::num_left() const {
  return num_to_try() - std::min(num_to_try(), history_.size());
}

std::vector<std::size_t> Proposals::next(std::size_t count) {
  const std::size_t room = num_left();
  if (!to_try_again_.empty() && room > 0) {
    const auto end = to_try_again_.begin() +
                     static_cast<std::ptrdiff_t>(std::min({count, room, to_try_again_.size()}));
    const std::vector<std::size_t> first(to_try_again_.begin(), end);
    to_try_again_.erase(to_try_again_.begin(), end);
    return first;
  }
  if (warm_start_ && room > 0) {
    const std::vector<std::size_t> first = warm_start_->next(history_, std::min(count, room));
    run_.report.carried_over += first.size();
    if (!first.empty()) return first;
  }
  if (is_drawn_ && learns() && !run_.is_replay()) {
    grow(points_, history_, grown_, [this](auto point) { return space_.is_valid(point); });
  }
  return propose(run_.sweep.search, points_, history_, count);
}

std::optional<std::size_t> Proposals::index_of(const Config& config) {
  const std::optional<std::vector<int>> point = space_.point(config);
  if (!point) return std::nullopt;
  const auto known = points_.find(*point);
  if (known || !is_drawn_ || !space_.is_valid(*point)) return known;
  points_.add(*point);
  return points_.size() - 1;
}

std::size_t Proposals::begin(std::size_t index) {
  history_.push_back({index});
  return history_.size() - 1;
}

bool Proposals::has_little_to_gain() {
  const std::optional<double>& until_ratio = run_.sweep.search.budget_until_ratio;
  if (!until_ratio || history_.size() < next_estimate_) return false;
  next_estimate_ = history_.size() + std::max<std::size_t>(5, history_.size() / 10);
  const std::optional<double> gain_ratio = gain_left(run_.sweep.search, points_, history_);
  return gain_ratio && *gain_ratio <= *until_ratio;
}

void Proposals::report_gain_left() {
  if (!run_.sweep.search.budget_until_ratio || points_.size() == 0) return;
  std::vector<Observation> tried = history_;  // less what the budget of seconds left out
  std::erase_if(tried, [](const Observation& seen) { return seen.is == Observation::Is::pending; });
  run_.report.searches.push_back({kernel_.name, to_text(problem_), tried.size(), points_.size(),
                                  gain_left(run_.sweep.search, points_, tried)});
}

}  // namespace assay
