#include "search/search.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/draw.h"

namespace assay {

Trail::Trail(const Points& the_points, const std::vector<Observation>& the_history,
             std::size_t count)
    : points(the_points), history(the_history), count_(count), observed_(the_points.size()) {
  for (std::size_t i = 0; i < history.size(); ++i) {
    if (history[i].index < observed_.size()) {
      observed_[history[i].index] = static_cast<std::uint32_t>(i + 1);
    }
  }
}

bool Trail::has_failed(std::size_t index) const {
  const std::uint32_t at = observed_[index];
  return at != kUnknown && at != kProposed && history[at - 1].is == Observation::Is::failed;
}

void Trail::propose(std::size_t index) {
  if (full() || is_known(index)) return;
  observed_[index] = kProposed;
  proposed_.push_back(index);
}

void Trail::start(const SearchSpec& search) {
  const auto num_known = static_cast<std::size_t>(std::ranges::count_if(
      history, [&](const Observation& seen) { return seen.index < points.size(); }));
  if (num_known >= kNumDrawn) return;
  Trail drawn(points, history, kNumDrawn - num_known);
  propose_random(search, drawn);
  for (const std::size_t index : drawn.take()) propose(index);
}

/// A permutation of the points (Fisher and Yates, from the front), drawn one at a time, so that a
/// proposal early in a sweep draws only as many as it looks at.
void propose_random(const SearchSpec& search, Trail& trail) {
  Random random(search.seed);
  std::vector<std::size_t> order(trail.points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = 0; i < order.size() && !trail.full(); ++i) {
    std::swap(order[i], order[i + below(random, order.size() - i)]);
    trail.propose(order[i]);
  }
}

namespace {

/// What `automatic` stands for.
Strategy strategy_of(const SearchSpec& search, std::size_t num_points) {
  if (search.strategy != Strategy::automatic) return search.strategy;
  const bool misses_some =
      search.budget_configs && static_cast<std::size_t>(*search.budget_configs) < num_points;
  const bool may_end_early = search.budget_seconds || search.budget_until_ratio;
  return misses_some || may_end_early ? Strategy::model : Strategy::exhaustive;
}

}  // namespace

std::size_t Points::slot_of(std::span<const int> point) const {
  std::uint64_t hash = 0;
  for (const int value : point) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9E37'79B9'7F4A'7C15;
  }
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = (hash >> 32) & mask;
  while (slots_[slot] != 0) {
    const std::span<const int> other = (*this)[slots_[slot] - 1];
    if (std::equal(point.begin(), point.end(), other.begin())) break;
    slot = (slot + 1) & mask;
  }
  return slot;
}

void Points::add(std::span<const int> point) {
  values_.insert(values_.end(), point.begin(), point.end());
  ++size_;
  if (2 * size_ > slots_.size()) {
    slots_.assign(std::bit_ceil(4 * size_), 0);
    for (std::size_t i = 0; i + 1 < size_; ++i) {
      slots_[slot_of((*this)[i])] = static_cast<std::uint32_t>(i + 1);
    }
  }
  slots_[slot_of(point)] = static_cast<std::uint32_t>(size_);
}

std::optional<std::size_t> Points::find(std::span<const int> point) const {
  if (size_ == 0) return {};
  const std::uint32_t found = slots_[slot_of(point)];
  return found == 0 ? std::nullopt : std::optional<std::size_t>(found - 1);
}

std::size_t Points::num_different(std::size_t one, std::size_t other) const {
  std::size_t count = 0;
  for (std::size_t param = 0; param < num_values_.size(); ++param) {
    count += (*this)[one][param] != (*this)[other][param];
  }
  return count;
}

std::size_t Points::first_different(std::size_t one, std::size_t other) const {
  const std::span<const int> a = (*this)[one], b = (*this)[other];
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
}

std::vector<std::size_t> Points::neighbours(std::size_t index) const {
  std::vector<int> point((*this)[index].begin(), (*this)[index].end());
  std::vector<std::size_t> found;
  for (std::size_t param = 0; param < point.size(); ++param) {
    for_others(*this, point, param, [&] {
      if (const auto at = find(point)) found.push_back(*at);
    });
  }
  return found;
}

bool learns(const SearchSpec& search, std::size_t num_points) {
  const Strategy strategy = strategy_of(search, num_points);
  return strategy != Strategy::exhaustive && strategy != Strategy::random;
}

std::vector<std::size_t> propose(const SearchSpec& search, const Points& points,
                                 const std::vector<Observation>& history, std::size_t count) {
  if (search.budget_configs) {
    const auto budget = static_cast<std::size_t>(std::max<std::int64_t>(*search.budget_configs, 0));
    count = std::min(count, budget - std::min(budget, history.size()));
  }
  if (count == 0) return {};
  Trail trail(points, history, count);
  switch (strategy_of(search, points.size())) {
    case Strategy::exhaustive: {
      // The first in the order of the space are one corner of it, so what may end early is drawn.
      const bool may_end_early = search.budget_configs && search.strategy == Strategy::exhaustive;
      if (may_end_early || search.budget_seconds || search.budget_until_ratio) break;
      for (std::size_t i = 0; i < points.size() && !trail.full(); ++i) trail.propose(i);
      break;
    }
    case Strategy::model:
      propose_model(search, trail);
      break;
    default:
      break;  // drawn
  }
  if (!trail.full()) propose_random(search, trail);
  return trail.take();
}

}  // namespace assay
