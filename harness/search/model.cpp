// Two models of what the fastest time so far would be of a point's: 1 is as fast, 0.5 takes twice
// as long. So they look closely at fast points, and all slow ones are alike. They are trained on
// all results at every call.
//
// A Gaussian process compares points with what was tried nearby. What it proposes is by turns what
// it takes for fastest, and what may be fastest if it errs, by more and more.
//
// Where it is known what follows from the parameters, such as blocks or bytes, a forest learns from
// that, and every other turn is its own: it proposes what is expected to gain most. It climbs to
// that from the most promising of what it looks at. Since it looks into the unknown, too, the
// process does so only in the first half of a budget. Elsewhere the forest knows no more than the
// process, which is better with few results.
//
// A point that failed is taken by the process to be as slow as the slowest; of the forest's trees
// some learn what fails. So those like it are avoided. A point that was given up is taken to be as
// slow as its bound.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/draw.h"
#include "search/forest.h"
#include "search/gaussian.h"
#include "search/search.h"

namespace assay {
namespace {

// How many standard deviations the model may err, in turn.
constexpr double kOptimism[] = {0, 1, 2, 4};
// The most where a forest looks into the unknown, and half of the budget is spent.
constexpr double kLateOptimism = 1;
// Training takes the third power of the number of results, a guess the second: beyond these, the
// fastest and a random choice of the others stand for all.
constexpr std::size_t kMaxResults = 200;
// Looked at are so many random points, all neighbours of the fastest, and of each of these so many
// others that differ in two parameters; closely, the best of them.
constexpr std::size_t kMaxDrawn = 4000, kMaxDrawnOfLarge = 500, kNumFastest = 4,
                      kNumTwoSteps = 1500;
constexpr std::size_t kMaxClose = 150;
// Proposals of a turn differ in one parameter for every so many that there are, but no more.
constexpr std::size_t kParamsForOneApart = 4, kMaxApart = 3;
// Where the trees agree: what they are taken to err by at least. And by how much a point is to be
// faster than the fastest so far: a forest that is content with less stays where it is.
constexpr double kLeastSpread = 0.01, kLeastGain = 0.01;
// The forest climbs from so many points: one parameter at a time, to the neighbour of which most is
// expected.
constexpr std::size_t kNumClimbs = 10;
// For what is still to gain, so many points are looked at closely, and as many of the others.
constexpr std::size_t kMaxHopeful = 300;
// The model is surer of itself than it may be, because times jump where a model is smooth. With its
// deviations taken so much larger it was right in the recorded spaces: see docs/search.md.
constexpr double kCaution = 1.5;
// Where the least cost is 0: so much of the worst is added to all.
constexpr double kShiftOfZero = 0.1;

using Result = std::pair<double, std::size_t>;  // minus the fraction, the point

/// Puts a random choice of the items from `begin` on ahead of the others, up to `end`.
template <typename Item>
void choose(std::vector<Item>& items, std::size_t begin, std::size_t end, Random& random) {
  for (std::size_t i = begin; i < std::min(end, items.size()); ++i) {
    std::swap(items[i], items[i + below(random, items.size() - i)]);
  }
}

/// The results, fastest first. No more than kMaxResults of them, of which the first
/// GaussianProcess::kMaxLearned are the fastest and a random choice of others.
std::vector<Result> results_of(const Trail& trail, Random& random) {
  double best_ns = std::numeric_limits<double>::infinity(), worst_ns = 0;
  for (const Observation& seen : trail.history) {
    if (seen.is == Observation::Is::timed) best_ns = std::min(best_ns, seen.time_ns);
    worst_ns = std::max(worst_ns, seen.time_ns);
  }
  std::vector<Result> results;
  if (worst_ns <= 0 || best_ns > worst_ns) return results;  // nothing was timed to its end
  // By another objective the least may be 0, of which the others would all be the same fraction.
  const double shift_ns = best_ns > 0 ? 0 : kShiftOfZero * worst_ns;
  for (const Observation& seen : trail.history) {
    if (seen.is == Observation::Is::pending || seen.index >= trail.points.size()) continue;
    const double time_ns = seen.is == Observation::Is::failed ? worst_ns : seen.time_ns;
    results.emplace_back(-(best_ns + shift_ns) / (time_ns + shift_ns), seen.index);
  }
  std::ranges::sort(results);
  choose(results, kMaxResults / 2, results.size(), random);
  if (results.size() > kMaxResults) results.resize(kMaxResults);
  choose(results, GaussianProcess::kMaxLearned / 2, results.size(), random);
  return results;
}

/// Points that differ from `index` in two parameters: all, or a random choice where there are more
/// than kNumTwoSteps. Often only both changes together are faster, or valid: half the height and
/// twice the width of a tile.
void add_two_steps(const Points& points, std::size_t index, Random& random,
                   std::vector<std::size_t>& found) {
  std::vector<std::size_t> varied;
  for (std::size_t param = 0; param < points.num_values().size(); ++param) {
    if (points.num_values()[param] > 1) varied.push_back(param);
  }
  if (varied.size() < 2) return;
  std::vector<int> point(points[index].begin(), points[index].end());
  const auto look_up = [&] {
    if (const auto at = points.find(point)) found.push_back(*at);
  };
  std::size_t num_steps = 0, num_two_steps = 0;  // of the parameters so far
  for (const std::size_t param : varied) {
    const auto num_others = static_cast<std::size_t>(points.num_values()[param] - 1);
    num_two_steps += num_steps * num_others;
    num_steps += num_others;
  }
  if (num_two_steps <= kNumTwoSteps) {
    for (std::size_t i = 0; i < varied.size(); ++i) {
      for (std::size_t k = i + 1; k < varied.size(); ++k) {
        for_others(points, point, varied[i],
                   [&] { for_others(points, point, varied[k], look_up); });
      }
    }
    return;
  }
  const auto change = [&](std::size_t param) {
    const auto num_values = static_cast<std::size_t>(points.num_values()[param]);
    const int other = static_cast<int>(below(random, num_values - 1));
    point[param] = other + (other >= points[index][param] ? 1 : 0);
  };
  for (std::size_t i = 0; i < kNumTwoSteps; ++i) {
    const std::size_t first = below(random, varied.size());
    const std::size_t second = (first + 1 + below(random, varied.size() - 1)) % varied.size();
    change(varied[first]);
    change(varied[second]);
    look_up();
    point[varied[first]] = points[index][varied[first]];
    point[varied[second]] = points[index][varied[second]];
  }
}

/// Where the next may be.
std::vector<std::size_t> candidates_of(const Trail& trail, const std::vector<Result>& results,
                                       Random& random) {
  const Points& points = trail.points;
  std::vector<std::size_t> found;
  if (points.size() <= kMaxDrawn) {
    for (std::size_t i = 0; i < points.size(); ++i) found.push_back(i);
  } else {
    for (std::size_t i = 0; i < kMaxDrawnOfLarge; ++i) {
      found.push_back(below(random, points.size()));
    }
    for (std::size_t i = 0; i < std::min(kNumFastest, results.size()); ++i) {
      const std::vector<std::size_t> around = points.neighbours(results[i].second);
      found.insert(found.end(), around.begin(), around.end());
      add_two_steps(points, results[i].second, random, found);
    }
  }
  std::vector<bool> is_seen(points.size());
  std::erase_if(found, [&](std::size_t index) {
    const bool is_again = is_seen[index];
    is_seen[index] = true;
    return is_again || trail.is_known(index);
  });
  return found;
}

/// The chance that a value of a normal distribution is so many standard deviations below its mean.
double chance_below(double deviations) { return 0.5 * std::erfc(deviations / std::sqrt(2.0)); }

/// Untried points that stand for all: the neighbours of the fastest and a random choice.
std::vector<std::size_t> untried(const Trail& trail, const std::vector<Result>& results,
                                 Random& random) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < trail.points.size(); ++i) {
    if (!trail.is_known(i)) found.push_back(i);
  }
  if (found.size() <= kMaxDrawn) return found;
  choose(found, 0, kMaxDrawn, random);
  found.resize(kMaxDrawn);
  for (std::size_t i = 0; i < std::min(kNumFastest, results.size()); ++i) {
    for (const std::size_t near : trail.points.neighbours(results[i].second)) {
      if (!trail.is_known(near)) found.push_back(near);
    }
  }
  return found;
}

/// Proposes what it is offered, leaving out what differs little from another proposal of the turn:
/// parameters without effect have many points take the same time, and all would be proposed at
/// once. Where that leaves too few, the others follow.
class ProposalsApart {
 public:
  explicit ProposalsApart(Trail& trail)
      : trail_(trail),
        least_(std::min(kMaxApart, trail.points.num_values().size() / kParamsForOneApart)) {}

  void offer(std::size_t index) {
    const bool is_apart = std::ranges::all_of(turn_, [&](std::size_t other) {
      return trail_.points.num_different(index, other) >= least_;
    });
    (is_apart ? turn_ : others_).push_back(index);
    if (is_apart) trail_.propose(index);
  }
  void propose_others() {
    for (const std::size_t index : others_) trail_.propose(index);
  }

 private:
  Trail& trail_;
  const std::size_t least_;
  std::vector<std::size_t> turn_, others_;
};

GaussianProcess process_of(const Points& points, const std::vector<Result>& results) {
  std::vector<GaussianProcess::Point> known;
  std::vector<double> values;
  for (const auto& [value, index] : results) {
    known.push_back(points[index]);
    values.push_back(value);
  }
  return {points.num_values(), std::move(known), std::move(values)};
}

/// Proposes what the Gaussian process takes for fastest, and what may be fastest if it errs.
void propose_by_process(Trail& trail, const std::vector<Result>& results,
                        const std::vector<std::size_t>& candidates, double most_optimism,
                        Random& random) {
  const Points& points = trail.points;
  std::vector<GaussianProcess::Point> pending;
  for (const Observation& seen : trail.history) {
    const bool is_pending = seen.is == Observation::Is::pending && seen.index < points.size();
    if (is_pending) pending.push_back(points[seen.index]);
  }
  GaussianProcess model = process_of(points, results);
  model.believe(pending);

  std::vector<Result> close;
  for (const std::size_t index : candidates) close.emplace_back(model.mean(points[index]), index);
  std::ranges::sort(close);
  // Of those that do not look fast, some may be so unlike all others that nobody knows.
  choose(close, kMaxClose / 2, kMaxClose, random);
  if (close.size() > kMaxClose) close.resize(kMaxClose);
  // A guess costs as much as a hundred means, so only those are asked for that can be the best.
  std::vector<std::optional<GaussianProcess::Guess>> guesses(close.size());
  ProposalsApart proposals(trail);
  for (std::size_t turn = trail.history.size(); !close.empty() && !trail.full(); ++turn) {
    const double optimism = std::min(kOptimism[turn % std::size(kOptimism)], most_optimism);
    std::size_t best = 0;
    double best_hope = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < close.size(); ++i) {
      if (close[i].first - optimism * model.most_deviation() >= best_hope) continue;
      if (!guesses[i]) guesses[i] = model.guess(points[close[i].second]);
      const double hope = guesses[i]->mean - optimism * guesses[i]->deviation;
      if (hope >= best_hope) continue;
      best = i;
      best_hope = hope;
    }
    proposals.offer(close[best].second);
    close.erase(close.begin() + static_cast<std::ptrdiff_t>(best));
    guesses.erase(guesses.begin() + static_cast<std::ptrdiff_t>(best));
  }
  proposals.propose_others();
}

/// Proposes what is expected to gain most: on average over what the trees may err, and where it
/// does not fail. Of what fails they learn that alone.
void propose_by_forest(Trail& trail, const std::vector<Result>& results,
                       const std::vector<std::size_t>& candidates, Random& random) {
  std::vector<float> all_features, features, failures, values;
  for (const auto& [value, index] : results) {
    const std::vector<float> row = trail.points.description()(index);
    const bool failed = trail.has_failed(index);
    all_features.insert(all_features.end(), row.begin(), row.end());
    failures.push_back(failed ? 1 : 0);
    if (failed) continue;
    features.insert(features.end(), row.begin(), row.end());
    values.push_back(static_cast<float>(value));
  }
  const std::size_t num_features = features.size() / values.size();
  const Forest forest(num_features, features, values, random());
  const Forest failure(num_features, all_features, failures, random());
  std::vector<Result> by_gain;  // minus what is expected to be gained
  std::unordered_set<std::size_t> seen;
  const auto look_at = [&](std::size_t index) {
    if (trail.is_known(index) || !seen.insert(index).second) return;
    const std::vector<float> row = trail.points.description()(index);
    const auto [mean, deviation] = forest.guess(row);
    const double gain = -1 - kLeastGain - mean, spread = std::max(deviation, kLeastSpread);
    const double ratio = gain / spread;
    const double density = std::exp(-ratio * ratio / 2) / std::sqrt(2 * std::numbers::pi);
    const double expected = gain * chance_below(-ratio) + spread * density;
    by_gain.emplace_back(-expected * (1 - failure.value(row)), index);
  };
  for (const std::size_t index : candidates) look_at(index);
  std::ranges::sort(by_gain);
  std::vector<Result> tops(by_gain.begin(), by_gain.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                  kNumClimbs, by_gain.size())));
  for (Result top : tops) {
    for (bool climbs = true; climbs;) {
      const std::size_t num_seen = by_gain.size();
      for (const std::size_t near : trail.points.neighbours(top.second)) look_at(near);
      climbs = false;
      for (std::size_t i = num_seen; i < by_gain.size(); ++i) {
        if (by_gain[i].first >= top.first) continue;
        top = by_gain[i];
        climbs = true;
      }
    }
  }
  std::ranges::sort(by_gain);
  ProposalsApart proposals(trail);
  for (std::size_t i = 0; i < by_gain.size() && !trail.full(); ++i) {
    proposals.offer(by_gain[i].second);
  }
  proposals.propose_others();
}

}  // namespace

std::optional<double> gain_left(const SearchSpec& search, const Points& points,
                                const std::vector<Observation>& history) {
  const Trail trail(points, history, 0);
  Random random(search.seed + history.size());
  const std::vector<Result> results = results_of(trail, random);
  if (results.size() < kNumDrawn) return std::nullopt;
  const GaussianProcess model = process_of(points, results);

  std::vector<Result> by_mean;
  for (const std::size_t index : untried(trail, results, random)) {
    by_mean.emplace_back(model.mean(points[index]), index);
  }
  std::ranges::sort(by_mean);
  const double num_untried =
      static_cast<double>(points.size()) - static_cast<double>(history.size());
  // Each stands for itself and for others like it.
  std::vector<std::pair<GaussianProcess::Guess, double>> guesses;
  const auto guess = [&](std::size_t begin, std::size_t end, double count) {
    for (std::size_t i = begin; i < end; ++i) {
      guesses.emplace_back(model.guess(points[by_mean[i].second]), count);
    }
  };
  const double each = std::max(1.0, num_untried / static_cast<double>(by_mean.size()));
  const std::size_t hopeful = std::min(kMaxHopeful, by_mean.size());
  const std::size_t others = by_mean.size() - hopeful, drawn = std::min(kMaxHopeful, others);
  choose(by_mean, hopeful, hopeful + drawn, random);
  guess(0, hopeful, each);
  guess(hopeful, hopeful + drawn,
        each * static_cast<double>(others) / static_cast<double>(std::max(drawn, std::size_t{1})));

  // A point's value is minus its fraction of the best speed. That any is faster by more than a gain
  // is at most as likely as the sum of all chances.
  double low = 0, high = 8;
  for (int step = 0; step < 30; ++step) {
    const double gain = (low + high) / 2;
    double chance = 0;
    for (const auto& [guessed, count] : guesses) {
      const double margin = guessed.mean + 1 + gain;
      chance += count * chance_below(margin / (kCaution * guessed.deviation));
    }
    (chance > 1 - kGainSureness ? low : high) = gain;
  }
  return high;
}

void propose_model(const SearchSpec& search, Trail& trail) {
  trail.start(search);
  if (trail.full()) return;
  Random random(search.seed + trail.history.size());
  const std::vector<Result> results = results_of(trail, random);
  if (results.empty()) return;
  const Points& points = trail.points;
  const std::vector<std::size_t> candidates = candidates_of(trail, results, random);
  // The process is first, and goes through all of kOptimism in a turn.
  const std::size_t turn_size = std::max(trail.count(), std::size(kOptimism));
  const std::size_t num_learned = std::max(trail.history.size(), kNumDrawn) - kNumDrawn;
  const bool is_turn_of_forest = points.description() && num_learned / turn_size % 2 == 1;
  if (is_turn_of_forest) {
    propose_by_forest(trail, results, candidates, random);
  } else {
    const bool is_late =
        points.description() && search.budget_configs &&
        2 * trail.history.size() > static_cast<std::size_t>(*search.budget_configs);
    propose_by_process(trail, results, candidates,
                       is_late ? kLateOptimism : std::numeric_limits<double>::max(), random);
  }
}

}  // namespace assay
