#include "tuner/warm_start.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "base/draw.h"
#include "base/error.h"
#include "search/refine.h"

namespace assay {
namespace {

// Of so many problems the fastest is tried, and of so many the second, too.
constexpr std::size_t kNumProblems = 5, kNumWithSecond = 2;
// Where a launch cannot be said to fill a device, it counts as filling so much.
constexpr float kLeastFill = 1e-3F;
// What a model knows of fewer trials, the winners tell too.
constexpr std::size_t kMinKnown = 100;
// A random choice of more stands for all: training takes a fifth of a second.
constexpr std::size_t kMaxKnown = 3000;
// So often it counts what the problem itself has shown, and what others whose sizes' ratios
// multiply to less than 16.
constexpr int kWeightOfOwn = 4, kWeightOfNear = 2;
constexpr double kNear = 2.7725887;  // log(16)
// So many points are looked at, then so often the neighbours of the best.
constexpr std::size_t kNumLookedAt = 8000, kNumClimbs = 3, kNumClimbers = 8;
// So many random points less for each that was measured before.
constexpr std::size_t kTrusted = 40;
// So many configurations are tried before the search goes on alone. The model chooses the first
// among all; then the fastest few are refined.
constexpr std::size_t kNumTried = 60, kNumAmongAll = 30;
// Those that the model proposes until the problem itself has shown so many results are apart.
constexpr std::size_t kNumResults = 15;

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
  std::map<std::pair<double, std::string>, Measured> by_distance;
  for (const TrialRow& row : store.trials({.kernel = kernel.name})) {
    const TrialRecord& trial = row.record;
    const Outcome& outcome = trial.outcome;
    if (is_machine_fault(outcome.status, outcome.kind)) continue;
    if (!is_failure(outcome.status) && !outcome.timing) continue;
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
    std::ranges::stable_sort(all.timed,
                             [](const auto& a, const auto& b) { return a.first < b.first; });
    nearest.push_back(std::move(all));
  }
  return nearest;
}

/// A value that may be a factor of something, else 0: no word, and no flag that is off.
double size_of(const Value& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  return number == nullptr ? 0 : std::max(static_cast<double>(*number), 0.0);
}

/// How differently two launches fill a device: the sum of the logarithms of their ratios.
double unlike_fills(std::span<const float> one, std::span<const float> other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i] == other[i]) continue;  // both may have no answer
    sum += std::abs(std::log(std::max(one[i], kLeastFill) / std::max(other[i], kLeastFill)));
  }
  return sum;
}

}  // namespace

WarmStart::WarmStart(const Store& store, const KernelSpec& kernel, const Problem& problem,
                     const DeviceInfo& device, const Space& space, const Points& points)
    : space_(space), points_(points), features_(kernel, problem, device) {
  for (const ParamSpec& param : space.params()) {
    sizes_.emplace_back();
    for (const Value& value : param.values) sizes_.back().push_back(size_of(value));
  }
  const std::vector<Measured> known = measured(store, kernel, problem);
  const auto index_of = [&](const Config& config) {
    const std::optional<std::vector<int>> point = space.point(config);
    return point ? points.find(*point) : std::nullopt;
  };
  const auto nearest = [&](std::size_t count) {
    return std::span(known).first(std::min(count, known.size()));
  };
  const auto add_winners = [&](std::size_t num_problems, std::size_t place) {
    for (const Measured& all : nearest(num_problems)) {
      if (place >= all.timed.size()) continue;
      if (const auto index = index_of(all.timed[place].second)) winners_.push_back(*index);
    }
  };
  add_winners(kNumProblems, 0);
  add_winners(kNumWithSecond, 1);
  for (const Measured& all : nearest(kNumProblems)) {
    adapt(kernel, all.problem, all.device, all.timed.front().second);
  }
  for (const Measured& all : known) {
    for (const auto* some : {&all.timed, &all.slower}) {
      for (const auto& [time_ns, config] : *some) {
        if (const auto index = index_of(config)) familiar_.insert(*index);
      }
    }
  }
  for (const Measured& all : known) {
    try {
      Features features(kernel, all.problem, all.device);
      const double best_ns = all.timed.front().first;
      for (int i = distance(problem, all.problem) < kNear ? kWeightOfNear : 1; i > 0; --i) {
        for (const auto& [time_ns, config] : all.timed) learn(features, config, best_ns / time_ns);
        for (const auto& [time_ns, config] : all.slower) learn(features, config, best_ns / time_ns);
        for (const Config& config : all.failed) learn(features, config, 0);
      }
    } catch (const UsageError&) {  // a problem of another version, with other dims
    }
  }
  keep_some();
  if (fractions_.size() >= kMinKnown) of_others_.emplace(features_.count(), rows_, fractions_, 1);
}

/// A product of 512x512x16384 splits K by 4 where one of 256x256x32768 splits it by 16: then its
/// blocks fill the device as the other's do.
void WarmStart::adapt(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device,
                      const Config& winner) {
  const std::optional<std::vector<int>> point = space_.point(winner);
  if (!point) return;
  try {
    std::vector<float> own;
    if (!Features(kernel, problem, device).append(winner, own)) return;
    const auto unlike = [&](std::size_t index) {
      return unlike_fills(Features::fill(own), Features::fill(row_of(index)));
    };
    if (const auto index = adapted(points_, *point, unlike)) winners_.push_back(*index);
  } catch (const UsageError&) {  // a problem of another version, with other dims
  }
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

std::vector<std::size_t> WarmStart::next(const std::vector<Observation>& history,
                                         std::size_t count) {
  if (history.size() >= kNumTried) return {};
  std::set<std::size_t> known;
  for (const Observation& seen : history) known.insert(seen.index);
  std::vector<std::size_t> next;
  for (const std::size_t winner : winners_) {
    if (next.size() < count && known.insert(winner).second) next.push_back(winner);
  }
  if (next.size() == count || !of_others_) return next;
  const std::size_t room = count - next.size();
  const Forest forest = trained(history);
  const Hints hints{[&](std::size_t index) { return forest.value(row_of(index)); }, winners_,
                    sizes_};
  const std::vector<std::size_t> also = history.size() < kNumAmongAll
                                            ? among_all(history, hints, known, room)
                                            : refine(points_, history, hints, known, room);
  next.insert(next.end(), also.begin(), also.end());
  return next;
}

/// What is known of other problems, and what `history` shows of this one.
Forest WarmStart::trained(const std::vector<Observation>& history) {
  std::vector<float> rows = rows_, fractions = fractions_;
  const std::vector<Observation> timed = fastest_first(points_, history);
  const double best_ns = timed.empty() ? 0 : timed.front().time_ns;
  // The fastest so far need not be fast: what others tell of those that were tried says how near it
  // is to the best.
  double said = 0, shown = 0;
  for (const Observation& seen : timed) {
    said += of_others_->value(row_of(seen.index));
    shown += best_ns / seen.time_ns;
  }
  const double of_best = shown > 0 ? std::min(1.0, said / shown) : 1;
  for (const Observation& seen : history) {
    if (seen.is == Observation::Is::pending || seen.index >= points_.size()) continue;
    const bool failed = seen.is == Observation::Is::failed;
    if (!failed && timed.empty()) continue;  // bounds alone say nothing
    const double fraction = failed ? 0 : of_best * std::min(1.0, best_ns / seen.time_ns);
    for (int i = 0; i < kWeightOfOwn; ++i) {
      features_.append(space_.config(points_[seen.index]), rows);
      fractions.push_back(static_cast<float>(fraction));
    }
  }
  return Forest(features_.count(), rows, fractions, 1);
}

std::vector<float> WarmStart::row_of(std::size_t index) {
  std::vector<float> row;
  features_.append(space_.config(points_[index]), row);
  return row;
}

/// Those that the model takes for fastest among all, without those that are `known`.
std::vector<std::size_t> WarmStart::among_all(const std::vector<Observation>& history,
                                              const Hints& hints,
                                              const std::set<std::size_t>& known,
                                              std::size_t count) {
  std::map<std::size_t, double> looked_at;
  const auto look_at = [&](std::size_t index) {
    const auto [at, is_new] = looked_at.try_emplace(index);
    if (is_new) at->second = hints.expected(index);
  };
  std::vector<std::pair<double, std::size_t>> best;
  const auto sort = [&] {
    best.clear();
    for (const auto& [index, fraction] : looked_at) best.emplace_back(-fraction, index);
    std::ranges::sort(best);
  };
  // What was ever measured is where the model knows its way. Far from it a large space has points
  // that only seem fast. So random ones make up for too few.
  for (const std::size_t index : familiar_) look_at(index);
  for (const std::size_t index : known) {
    if (index < points_.size()) look_at(index);
  }
  Random random(1 + history.size());
  for (std::size_t i = kNumLookedAt - std::min(kNumLookedAt, kTrusted * looked_at.size()); i > 0;
       --i) {
    look_at(below(random, points_.size()));
  }
  sort();
  for (std::size_t climb = 0; climb < kNumClimbs; ++climb) {
    for (std::size_t i = 0; i < std::min(kNumClimbers, best.size()); ++i) {
      for (const std::size_t near : points_.neighbours(best[i].second)) look_at(near);
    }
    sort();
  }

  const auto num_pending = static_cast<std::size_t>(std::ranges::count_if(
      history, [](const Observation& seen) { return seen.is == Observation::Is::pending; }));
  std::vector<std::size_t> proposed;  // by the model, while it knows little of this problem
  for (const Observation& seen : history) {
    const bool is_winner = std::ranges::find(winners_, seen.index) != winners_.end();
    if (seen.index < points_.size() && !is_winner) proposed.push_back(seen.index);
  }
  const auto is_apart = [&](std::size_t index) {
    return history.size() - num_pending >= kNumResults ||
           std::ranges::all_of(proposed,
                               [&](std::size_t other) { return are_apart(points_, index, other); });
  };
  std::vector<std::size_t> chosen, like_others;
  for (const auto& [fraction, index] : best) {
    if (chosen.size() == count) break;
    if (known.contains(index)) continue;
    if (!is_apart(index)) {
      like_others.push_back(index);
      continue;
    }
    chosen.push_back(index);
    proposed.push_back(index);
  }
  // Where too few are apart, the others follow.
  for (std::size_t i = 0; i < like_others.size() && chosen.size() < count; ++i) {
    chosen.push_back(like_others[i]);
  }
  return chosen;
}

}  // namespace assay
