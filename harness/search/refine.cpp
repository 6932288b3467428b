#include "search/refine.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace assay {
namespace {

// So many of the fastest that are apart are refined.
constexpr std::size_t kNumRefined = 2;
// What differs in fewer than one of so many parameters is not apart.
constexpr std::size_t kApart = 4;
// A change comes a turn later when it made others so much slower, or is expected to: two turns when
// three times as much.
constexpr double kTurnOfSeen = 0.02, kTurnOfExpected = 0.1;
// What promises to be faster than all comes before the first turn.
constexpr double kAhead = -1;
// Where two changes have to go together, no more are looked up than these, and looked at by the
// model: parameters of a thousand values have millions.
constexpr int kMaxLookedUp = 100'000, kMaxLookedAt = 2000;

double turns_later(double slowdown, double of_one_turn) {
  return std::log2(1 + std::max(0.0, slowdown - 1) / of_one_turn);
}

class Refinement {
 public:
  Refinement(const Points& points, const std::vector<Observation>& history, const Hints& hints,
             const std::set<std::size_t>& known)
      : points_(points), hints_(hints), known_(known), timed_(fastest_first(points, history)) {
    for (const Observation& seen : timed_) {
      const bool is_apart = std::ranges::all_of(
          fastest_, [&](std::size_t faster) { return are_apart(points, seen.index, faster); });
      if (fastest_.size() < kNumRefined && is_apart) fastest_.push_back(seen.index);
    }
    learn_effects(history);
  }

  std::vector<std::size_t> next(std::size_t count);

 private:
  /// A parameter, its value before and after.
  using Change = std::tuple<std::size_t, int, int>;
  /// Ratios of the time after a change to that before.
  struct Effect {
    double least = std::numeric_limits<double>::infinity();  // of those from points that were timed
    double sum_log = 0;
    int count = 0;
    double mean() const { return std::exp(sum_log / count); }
  };
  struct Candidate {
    double later;  // turns
    bool is_new;   // no winner has the value
    double minus_expected;
    std::size_t index;
    auto operator<=>(const Candidate&) const = default;
  };
  using ByParam = std::map<std::size_t, std::vector<Candidate>>;

  void learn_effects(const std::vector<Observation>& history);
  Candidate candidate(std::size_t param, std::size_t index) const;
  void add_changes(std::size_t rank);
  void add_linked(ByParam& untried, std::map<std::size_t, std::size_t>& num_tried) const;
  std::vector<std::size_t> of_same_product() const;
  void add_transfers(std::size_t most);

  const Points& points_;
  const Hints& hints_;
  const std::set<std::size_t>& known_;
  const std::vector<Observation> timed_;
  std::vector<std::size_t> fastest_;  // that are apart
  std::size_t centre_ = 0;            // one of them
  double expected_of_centre_ = 0;
  std::map<Change, Effect> effects_;
  std::vector<std::tuple<double, double, std::size_t>> by_turn_;  // turn, minus fraction, point
};

/// By how much a change of one parameter made points slower, where it was seen. A point that was
/// given up is taken to be as slow as its bound. By another objective a point may cost nothing, of
/// which there is no ratio.
void Refinement::learn_effects(const std::vector<Observation>& history) {
  std::vector<Observation> ran;
  for (const Observation& seen : history) {
    const bool has_time = seen.is == Observation::Is::timed || seen.is == Observation::Is::bound;
    if (has_time && seen.time_ns > 0 && seen.index < points_.size()) ran.push_back(seen);
  }
  for (const Observation& before : ran) {
    for (const Observation& after : ran) {
      if (before.is == Observation::Is::bound && after.is == Observation::Is::bound) continue;
      if (points_.num_different(before.index, after.index) != 1) continue;
      const std::size_t param = points_.first_different(before.index, after.index);
      Effect& effect = effects_[{param, points_[before.index][param], points_[after.index][param]}];
      const double ratio = after.time_ns / before.time_ns;
      if (before.is == Observation::Is::timed) effect.least = std::min(effect.least, ratio);
      effect.sum_log += std::log(ratio);
      ++effect.count;
    }
  }
}

/// What is to be said for the point `index`, which has another value of `param` than the centre.
Refinement::Candidate Refinement::candidate(std::size_t param, std::size_t index) const {
  const int value = points_[index][param];
  const bool is_new = std::ranges::none_of(
      hints_.winners, [&](std::size_t winner) { return points_[winner][param] == value; });
  const double expected = hints_.expected(index);
  const auto seen = effects_.find({param, points_[centre_][param], value});
  const bool is_seen = seen != effects_.end() && std::isfinite(seen->second.least) &&
                       points_.num_different(centre_, index) == 1;
  const double later =
      is_seen ? turns_later(seen->second.least, kTurnOfSeen)
              : turns_later(expected_of_centre_ / std::max(expected, 0.01), kTurnOfExpected);
  return {later, is_new, -expected, index};
}

/// Those that differ in one parameter from the centre: of every parameter one value a turn, the
/// winners' first. How much a parameter matters here is seen by changing it; the model, which knows
/// that of other problems, would change the same few again and again.
void Refinement::add_changes(std::size_t rank) {
  centre_ = fastest_[rank];
  expected_of_centre_ = hints_.expected(centre_);
  ByParam untried;
  std::map<std::size_t, std::size_t> num_tried;
  for (const std::size_t near : points_.neighbours(centre_)) {
    const std::size_t param = points_.first_different(centre_, near);
    if (known_.contains(near)) {
      ++num_tried[param];
    } else {
      untried[param].push_back(candidate(param, near));
    }
  }
  add_linked(untried, num_tried);
  const std::size_t products = points_.num_values().size();  // one more parameter
  for (const std::size_t near : of_same_product()) {
    if (known_.contains(near)) {
      ++num_tried[products];
    } else {
      Candidate of_product = candidate(points_.first_different(centre_, near), near);
      of_product.is_new = false;
      untried[products].push_back(of_product);
    }
  }
  for (auto& [param, values] : untried) {
    std::ranges::sort(values);
    auto turn = static_cast<double>(num_tried[param] + rank);  // the fastest is a turn ahead
    for (const Candidate& each : values) {
      by_turn_.emplace_back(turn++ + each.later, each.minus_expected, each.index);
    }
  }
}

/// Where a parameter cannot be changed alone: with the one other change that makes it valid and of
/// which most is expected. Products of 2048x2048x2048 are fastest when tiles are visited in groups,
/// which asks for a size of the groups, too.
void Refinement::add_linked(ByParam& untried, std::map<std::size_t, std::size_t>& num_tried) const {
  std::vector<int> point(points_[centre_].begin(), points_[centre_].end());
  int num_looked_up = 0, num_looked_at = 0;
  for (std::size_t param = 0; param < point.size(); ++param) {
    for (int value = 0; value < points_.num_values()[param]; ++value) {
      if (num_looked_up > kMaxLookedUp || num_looked_at > kMaxLookedAt) return;
      point[param] = value;
      if (points_.find(point)) continue;
      std::optional<Candidate> best;
      bool is_tried = false;
      for (std::size_t other = 0; other < point.size(); ++other) {
        if (other == param) continue;
        for (point[other] = 0; point[other] < points_.num_values()[other]; ++point[other]) {
          const auto at = points_.find(point);
          ++num_looked_up;
          if (!at) continue;
          ++num_looked_at;
          is_tried = is_tried || known_.contains(*at);
          const Candidate linked = candidate(param, *at);
          if (!best || linked.minus_expected < best->minus_expected) best = linked;
        }
        point[other] = points_[centre_][other];
      }
      if (is_tried) {
        ++num_tried[param];
      } else if (best) {
        untried[param].push_back(*best);
      }
    }
    point[param] = points_[centre_][param];
  }
}

/// Where two parameters differ and what they multiply to, such as a tile's area, does not, which no
/// change of one of them can do. Of factors of 1 both values are exchanged, or the points are many.
std::vector<std::size_t> Refinement::of_same_product() const {
  std::vector<int> point(points_[centre_].begin(), points_[centre_].end());
  std::vector<std::size_t> found;
  for (std::size_t one = 0; one < point.size(); ++one) {
    for (std::size_t other = one + 1; other < point.size(); ++other) {
      const int own[] = {point[one], point[other]};
      const double a = hints_.sizes[one][own[0]], b = hints_.sizes[other][own[1]];
      if (a * b == 0) continue;
      for (int i = 0; i < points_.num_values()[one]; ++i) {
        for (int j = 0; j < points_.num_values()[other]; ++j) {
          const double c = hints_.sizes[one][i], d = hints_.sizes[other][j];
          const bool is_exchange = c == b && d == a;
          if (c * d != a * b || i == own[0] || (!is_exchange && std::min({a, b, c, d}) == 1)) {
            continue;
          }
          point[one] = i;
          point[other] = j;
          if (const auto at = points_.find(point)) found.push_back(*at);
        }
      }
      point[one] = own[0];
      point[other] = own[1];
    }
  }
  return found;
}

/// Of all that were timed, those that one change makes faster than the fastest, if it does to them
/// what it did to others; at most `most`. Tiles of 176 columns instead of 168 made one mode faster
/// by a fifth. In another, which was 5 % slower than the best and had only been tried with 168,
/// they won.
void Refinement::add_transfers(std::size_t most) {
  if (timed_.empty() || timed_.front().time_ns <= 0) return;
  std::map<std::size_t, double> ratios;  // to the fastest; the least hopeful of several
  for (const Observation& seen : timed_) {
    std::vector<int> point(points_[seen.index].begin(), points_[seen.index].end());
    for (const auto& [change, effect] : effects_) {
      const auto& [param, before, after] = change;
      const double ratio = seen.time_ns / timed_.front().time_ns * effect.mean();
      if (point[param] != before || ratio >= 1) continue;
      point[param] = after;
      const auto at = points_.find(point);
      point[param] = before;
      if (!at || known_.contains(*at)) continue;
      double& hope = ratios.try_emplace(*at, ratio).first->second;
      hope = std::max(hope, ratio);
    }
  }
  std::vector<std::pair<double, std::size_t>> best;
  for (const auto& [index, ratio] : ratios) best.emplace_back(ratio, index);
  std::ranges::sort(best);
  best.resize(std::min(best.size(), most));
  for (const auto& [ratio, index] : best) by_turn_.emplace_back(kAhead, ratio, index);
}

std::vector<std::size_t> Refinement::next(std::size_t count) {
  for (std::size_t rank = 0; rank < fastest_.size(); ++rank) add_changes(rank);
  add_transfers((count + 1) / 2);  // they may hope in vain
  std::ranges::sort(by_turn_);
  std::vector<std::size_t> chosen;
  for (const auto& [turn, fraction, near] : by_turn_) {
    const bool is_chosen = std::ranges::find(chosen, near) != chosen.end();
    if (chosen.size() < count && !is_chosen) chosen.push_back(near);
  }
  return chosen;
}

// A change has to make it more alike by this.
constexpr double kWorthAChange = 0.1;
// Pairs of changes that are looked up: parameters of a thousand values have millions.
constexpr int kMaxPairs = 100'000;

class Adaptation {
 public:
  Adaptation(const Points& points, std::span<const int> winner,
             const std::function<double(std::size_t)>& unlike)
      : points_(points), winner_(winner), unlike_(unlike), point_(winner.begin(), winner.end()) {}

  std::optional<std::size_t> best() {
    best_ = points_.find(point_);
    if (best_) least_.first = unlike_(*best_) - kWorthAChange;
    for (std::size_t param = 0; param < point_.size(); ++param) {
      for_others(points_, point_, param, [&] { consider(); });
    }
    if (!best_) look_at_pairs();
    return best_;
  }

 private:
  void consider() {
    const std::optional<std::size_t> at = points_.find(point_);
    if (!at) return;
    const int steps =
        std::transform_reduce(point_.begin(), point_.end(), winner_.begin(), 0, std::plus(),
                              [](int a, int b) { return std::abs(a - b); });
    const std::pair<double, int> found{unlike_(*at), steps};
    if (found >= least_) return;
    least_ = found;
    best_ = at;
  }

  void look_at_pairs() {
    int num_looked_up = 0;
    for (std::size_t one = 0; one < point_.size(); ++one) {
      for (std::size_t other = one + 1; other < point_.size(); ++other) {
        for_others(points_, point_, one, [&] {
          if (num_looked_up > kMaxPairs) return;
          num_looked_up += points_.num_values()[other];
          for_others(points_, point_, other, [&] { consider(); });
        });
      }
    }
  }

  const Points& points_;
  const std::span<const int> winner_;
  const std::function<double(std::size_t)>& unlike_;
  std::vector<int> point_;
  std::optional<std::size_t> best_;
  std::pair<double, int> least_{std::numeric_limits<double>::infinity(), 0};  // unlike, steps
};

}  // namespace

bool are_apart(const Points& points, std::size_t one, std::size_t other) {
  return points.num_different(one, other) >= points.num_values().size() / kApart;
}

std::vector<Observation> fastest_first(const Points& points,
                                       const std::vector<Observation>& history) {
  std::vector<Observation> timed;
  for (const Observation& seen : history) {
    if (seen.is == Observation::Is::timed && seen.index < points.size()) timed.push_back(seen);
  }
  std::ranges::stable_sort(timed, {}, &Observation::time_ns);
  return timed;
}

std::vector<std::size_t> refine(const Points& points, const std::vector<Observation>& history,
                                const Hints& hints, const std::set<std::size_t>& known,
                                std::size_t count) {
  return Refinement(points, history, hints, known).next(count);
}

void grow(Points& points, const std::vector<Observation>& history, std::set<std::size_t>& grown,
          const std::function<bool(std::span<const int> point)>& is_valid) {
  constexpr std::size_t kNumGrown = 4;
  const std::vector<Observation> fastest = fastest_first(points, history);
  for (std::size_t i = 0; i < std::min(kNumGrown, fastest.size()); ++i) {
    if (!grown.insert(fastest[i].index).second) continue;
    const std::span<const int> values = points[fastest[i].index];
    std::vector<int> point(values.begin(), values.end());
    for (std::size_t param = 0; param < point.size(); ++param) {
      for_others(points, point, param, [&] {
        if (!points.find(point) && is_valid(point)) points.add(point);
      });
    }
  }
}

std::optional<std::size_t> adapted(const Points& points, std::span<const int> winner,
                                   const std::function<double(std::size_t index)>& unlike) {
  return Adaptation(points, winner, unlike).best();
}

}  // namespace assay
