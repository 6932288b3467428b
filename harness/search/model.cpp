// A model of what the fastest time so far would be of a point's: 1 is as fast, 0.5 takes twice as
// long. So it looks closely at fast points, and all slow ones are alike. It is trained on all
// results at every call.
//
// What is proposed is by turns what the model takes for fastest, and what may be fastest if the
// model errs, by more and more. A point that failed is taken to be as slow as the slowest: then
// those like it are avoided. A point that was given up is taken to be as slow as its bound.
#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "search/draw.h"
#include "search/gaussian.h"
#include "search/strategies.h"

namespace assay {
namespace {

// How many standard deviations the model may err, in turn.
constexpr double kOptimism[] = {0, 1, 2, 4};
// Training takes the third power of the number of results, a guess the second: beyond these, the
// fastest and a random choice of the others stand for all.
constexpr std::size_t kMaxResults = 200;
// Looked at are so many random points and all neighbours of the fastest; closely, the best of them.
constexpr std::size_t kMaxDrawn = 4000, kMaxDrawnOfLarge = 500, kNumFastest = 4;
constexpr std::size_t kMaxClose = 150;

using Result = std::pair<double, std::size_t>;  // minus the fraction, the point

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
  for (const Observation& seen : trail.history) {
    if (seen.is == Observation::Is::pending || seen.index >= trail.points.size()) continue;
    const double time_ns = seen.is == Observation::Is::failed ? worst_ns : seen.time_ns;
    results.emplace_back(-best_ns / time_ns, seen.index);
  }
  std::sort(results.begin(), results.end());
  const auto mix_from = [&](std::size_t begin) {
    for (std::size_t i = begin; i < results.size(); ++i) {
      std::swap(results[i], results[i + below(random, results.size() - i)]);
    }
  };
  mix_from(kMaxResults / 2);
  if (results.size() > kMaxResults) results.resize(kMaxResults);
  mix_from(GaussianProcess::kMaxLearned / 2);
  return results;
}

/// Where the next may be.
std::vector<std::size_t> candidates(const Trail& trail, const std::vector<Result>& results,
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
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
  }
  std::erase_if(found, [&](std::size_t index) { return trail.is_known(index); });
  return found;
}

}  // namespace

void propose_model(const SearchSpec& search, Trail& trail) {
  trail.start(search);
  if (trail.full()) return;
  const Points& points = trail.points;
  Random random(search.seed + trail.history.size());
  const std::vector<Result> results = results_of(trail, random);
  if (results.empty()) return;
  std::vector<GaussianProcess::Point> known, pending;
  std::vector<double> values;
  for (const auto& [value, index] : results) {
    known.push_back(points[index]);
    values.push_back(value);
  }
  for (const Observation& seen : trail.history) {
    const bool is_pending = seen.is == Observation::Is::pending && seen.index < points.size();
    if (is_pending) pending.push_back(points[seen.index]);
  }
  GaussianProcess model(points.num_values(), std::move(known), std::move(values));
  model.believe(pending);

  std::vector<Result> close;
  for (const std::size_t index : candidates(trail, results, random)) {
    close.emplace_back(model.mean(points[index]), index);
  }
  std::sort(close.begin(), close.end());
  // Of those that do not look fast, some may be so unlike all others that nobody knows.
  for (std::size_t i = kMaxClose / 2; i < std::min(kMaxClose, close.size()); ++i) {
    std::swap(close[i], close[i + below(random, close.size() - i)]);
  }
  if (close.size() > kMaxClose) close.resize(kMaxClose);
  std::vector<GaussianProcess::Guess> guesses;
  for (const auto& [mean, index] : close) guesses.push_back(model.guess(points[index]));
  for (std::size_t turn = trail.history.size(); !trail.full() && !close.empty(); ++turn) {
    const double optimism = kOptimism[turn % std::size(kOptimism)];
    std::size_t best = 0;
    const auto hope = [&](std::size_t i) {
      return guesses[i].mean - optimism * guesses[i].deviation;
    };
    for (std::size_t i = 1; i < close.size(); ++i) {
      if (hope(i) < hope(best)) best = i;
    }
    trail.propose(close[best].second);
    close.erase(close.begin() + static_cast<std::ptrdiff_t>(best));
    guesses.erase(guesses.begin() + static_cast<std::ptrdiff_t>(best));
  }
}

}  // namespace assay
