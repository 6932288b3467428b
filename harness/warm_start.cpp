#include "warm_start.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "search/draw.h"
#include "search/forest.h"

namespace assay {
namespace {

constexpr std::size_t kNumProblems = 5, kNumWinners = 2;
// What a model knows of fewer trials, the winners tell too.
constexpr std::size_t kMinKnown = 100;
// A random choice of more stands for all: training takes a fifth of a second.
constexpr std::size_t kMaxKnown = 3000;
// So often it counts what the problem itself has shown.
constexpr int kWeightOfOwn = 4;
// So many random points are looked at, then so often the neighbours of the best.
constexpr std::size_t kNumLookedAt = 8000, kNumClimbs = 3, kNumClimbers = 8;
// The model proposes so many ahead, and a few more each time that so many results have come in.
constexpr std::size_t kNumFirst = 20, kNumLater = 8;
constexpr std::size_t kResultsOfRound[] = {0, 15, 35, 55};

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

/// What was measured of one problem on one device under one protocol: times elsewhere are not
/// compared with these.
struct Measured {
  Problem problem;
  DeviceInfo device;
  std::vector<std::pair<double, Config>> timed;   // fastest first
  std::vector<std::pair<double, Config>> slower;  // than these: given up
  std::vector<Config> failed;
};

/// Nearest first.
std::vector<Measured> measured(const Store& store, const KernelSpec& kernel,
                               const Problem& problem) {
  Filter filter;
  filter.kernel = kernel.name;
  std::map<std::pair<double, std::string>, Measured> by_distance;
  for (const TrialRow& row : store.trials(filter)) {
    const TrialRecord& trial = row.record;
    const Outcome& outcome = trial.outcome;
    if (is_machine_fault(outcome.status, outcome.kind)) continue;
    if (outcome.status == Status::correct && !outcome.timing) continue;  // compiled only
    Measured& all = by_distance[{distance(problem, trial.problem),
                                 to_text(trial.problem) + ' ' + row.device.name + ' ' +
                                     row.device.uuid + ' ' + trial.protocol.name}];
    all.problem = trial.problem;
    all.device = row.device;
    if (outcome.status != Status::correct) {
      all.failed.push_back(trial.config);
    } else {
      (outcome.timing->censored() ? all.slower : all.timed)
          .emplace_back(outcome.timing->median_ns, trial.config);
    }
  }
  std::vector<Measured> nearest;
  for (auto& [where, all] : by_distance) {
    if (all.timed.empty()) continue;
    std::stable_sort(all.timed.begin(), all.timed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    nearest.push_back(std::move(all));
  }
  return nearest;
}

}  // namespace

WarmStart::WarmStart(const Store& store, const KernelSpec& kernel, const Problem& problem,
                     const DeviceInfo& device, const Space& space, const Points& points)
    : space_(space), points_(points), features_(kernel, problem, device) {
  const std::vector<Measured> known = measured(store, kernel, problem);
  for (std::size_t place = 0; place < kNumWinners; ++place) {
    for (std::size_t i = 0; i < std::min(kNumProblems, known.size()); ++i) {
      if (place >= known[i].timed.size()) continue;
      const std::optional<std::vector<int>> point = space.point(known[i].timed[place].second);
      const std::optional<std::size_t> index = point ? points.find(*point) : std::nullopt;
      if (index) winners_.push_back(*index);
    }
  }
  for (const Measured& all : known) {
    try {
      Features features(kernel, all.problem, all.device);
      const double best_ns = all.timed.front().first;
      for (const auto& [time_ns, config] : all.timed) learn(features, config, best_ns / time_ns);
      for (const auto& [time_ns, config] : all.slower) learn(features, config, best_ns / time_ns);
      for (const Config& config : all.failed) learn(features, config, 0);
    } catch (const UsageError&) {  // a problem of another version, with other dims
    }
  }
  keep_some();
}

/// Learned is the fraction of its problem's best speed that a configuration reaches: fractions of
/// two problems can be compared, and what the contract's `let` counts, such as blocks or bytes,
/// says the same in both.
void WarmStart::learn(Features& features, const Config& config, double fraction) {
  if (features.append(config, rows_)) fractions_.push_back(static_cast<float>(fraction));
}

void WarmStart::keep_some() {
  const std::size_t width = features_.count();
  Random random(1);
  for (std::size_t i = 0; i < kMaxKnown && fractions_.size() > kMaxKnown; ++i) {
    const std::size_t other = i + below(random, fractions_.size() - i);
    std::swap(fractions_[i], fractions_[other]);
    for (std::size_t k = 0; k < width; ++k) {
      std::swap(rows_[i * width + k], rows_[other * width + k]);
    }
  }
  fractions_.resize(std::min(fractions_.size(), kMaxKnown));
  rows_.resize(fractions_.size() * width);
}

std::vector<std::size_t> WarmStart::next(const std::vector<Observation>& history) {
  const auto num_results = static_cast<std::size_t>(
      std::count_if(history.begin(), history.end(),
                    [](const Observation& seen) { return seen.is != Observation::Is::pending; }));
  if (num_rounds_ == std::size(kResultsOfRound) || num_results < kResultsOfRound[num_rounds_]) {
    return {};
  }
  const bool is_first = num_rounds_++ == 0;
  std::vector<std::size_t> proposed = is_first ? winners_ : std::vector<std::size_t>();
  if (fractions_.size() >= kMinKnown) {
    const std::vector<std::size_t> also = predicted(history, is_first ? kNumFirst : kNumLater);
    proposed.insert(proposed.end(), also.begin(), also.end());
  }
  std::vector<std::size_t> next;
  for (const std::size_t index : proposed) {
    const bool is_known = std::any_of(history.begin(), history.end(),
                                      [&](const Observation& seen) { return seen.index == index; });
    if (!is_known && std::find(next.begin(), next.end(), index) == next.end()) {
      next.push_back(index);
    }
  }
  return next;
}

/// The untried points that the model takes for fastest, no two of them neighbours.
std::vector<std::size_t> WarmStart::predicted(const std::vector<Observation>& history,
                                              std::size_t count) {
  std::vector<float> rows = rows_, fractions = fractions_;
  double best_ns = std::numeric_limits<double>::infinity();
  std::set<std::size_t> tried;
  for (const Observation& seen : history) {
    tried.insert(seen.index);
    if (seen.is == Observation::Is::timed) best_ns = std::min(best_ns, seen.time_ns);
  }
  for (const Observation& seen : history) {
    if (seen.is == Observation::Is::pending || seen.index >= points_.size()) continue;
    const bool failed = seen.is == Observation::Is::failed;
    if (!failed && std::isinf(best_ns)) continue;  // bounds alone say nothing
    const double fraction = failed ? 0 : std::min(1.0, best_ns / seen.time_ns);
    for (int i = 0; i < kWeightOfOwn; ++i) {
      features_.append(space_.config(points_[seen.index]), rows);
      fractions.push_back(static_cast<float>(fraction));
    }
  }
  const Forest forest(features_.count(), rows, fractions, 1);

  std::map<std::size_t, double> looked_at;
  const auto look_at = [&](std::size_t index) {
    const auto [at, is_new] = looked_at.try_emplace(index);
    if (!is_new) return;
    std::vector<float> row;
    features_.append(space_.config(points_[index]), row);
    at->second = forest.value(row);
  };
  Random random(1 + history.size());
  for (std::size_t i = 0; i < std::min(kNumLookedAt, points_.size()); ++i) {
    look_at(points_.size() <= kNumLookedAt ? i : below(random, points_.size()));
  }
  std::vector<std::pair<double, std::size_t>> best;
  const auto sort = [&] {
    best.clear();
    for (const auto& [index, fraction] : looked_at) best.emplace_back(-fraction, index);
    std::sort(best.begin(), best.end());
  };
  sort();
  for (std::size_t climb = 0; climb < kNumClimbs; ++climb) {
    for (std::size_t i = 0; i < std::min(kNumClimbers, best.size()); ++i) {
      for (const std::size_t near : points_.neighbours(best[i].second)) look_at(near);
    }
    sort();
  }
  std::vector<std::size_t> chosen;
  std::set<std::size_t> near_chosen;
  for (const auto& [fraction, index] : best) {
    if (chosen.size() == count) break;
    if (near_chosen.contains(index) || tried.contains(index)) continue;
    chosen.push_back(index);
    const std::vector<std::size_t> near = points_.neighbours(index);
    near_chosen.insert(near.begin(), near.end());
  }
  return chosen;
}

}  // namespace assay
