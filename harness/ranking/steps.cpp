// Finds the changes of level in a history.
//
//   filter    each run becomes the median of itself and its neighbours: a single outlier is no
//   level segment   the levels that fit best, at a price for each: exact, by dynamic programming
//   place     each change at the run where the unfiltered values fit the two levels best
//   judge     how likely is such a difference without a change, given that the place was chosen
//   gather    between the changes that stay: does the end differ from the beginning
//
// The noise of a series is that of the differences between one run and the next: neither a step nor
// a drift makes it larger. A series whose own noise seems smaller than that of most gets theirs.

#include "ranking/steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ranking/comparison.h"

namespace assay {
namespace {

using Values = std::span<const double>;

// Standard error of a midmean of normal values, relative to that of their mean.
constexpr double kCentreError = 1.1;
// How much the noise of the other series tells about that of one, in degrees of freedom.
constexpr double kSuiteDof = 20;
// Of a robust deviation of differences, relative to one of independent normal values.
constexpr double kDifferenceEfficiency = 0.3;
constexpr double kPendingDeviations = 4;
constexpr std::size_t kGradualParts = 4;  // of a stretch: its first and last are compared

double centre_of(Values values) { return values.size() < 4 ? median(values) : midmean(values); }

/// What is said with certainty of a level of few runs: the one of them that is nearest to the other
/// level, so that two outliers among three are no level.
double cautious_centre_of(Values values, double other_level) {
  if (values.size() >= 2 * kFewestRuns) return centre_of(values);
  return *std::ranges::min_element(values, [&](double a, double b) {
    return std::abs(a - other_level) < std::abs(b - other_level);
  });
}

/// Robust standard deviation of the differences between runs, as that of a single run.
double own_noise(Values values) {
  if (values.size() < 2) return 0;
  std::vector<double> sizes;
  for (std::size_t i = 1; i < values.size(); ++i) {
    sizes.push_back(std::abs(values[i] - values[i - 1]));
  }
  return median(sizes) / 0.6745 / std::sqrt(2.0);
}

struct SeriesNoise {
  double deviation = 0;
  double dof = 0;
};

std::vector<SeriesNoise> noises_of(std::span<const History> histories,
                                   std::vector<double> History::*member) {
  std::vector<double> own;
  std::vector<double> known;
  for (const History& history : histories) {
    const std::vector<double>& values = history.*member;
    own.push_back(own_noise(values));
    if (values.size() >= 2 * kFewestRuns) known.push_back(own.back());
  }
  const double usual = std::max(kLeastNoise, known.empty() ? 0.0 : median(known));
  std::vector<SeriesNoise> noises;
  for (std::size_t i = 0; i < histories.size(); ++i) {
    const auto num_runs = static_cast<double>((histories[i].*member).size());
    noises.push_back({std::max(usual, own[i]), kSuiteDof + kDifferenceEfficiency * num_runs});
  }
  return noises;
}

std::vector<double> filtered(Values values) {
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t begin = std::min(i == 0 ? 0 : i - 1, values.size() - 3);
    result.push_back(median(values.subspan(begin, 3)));
  }
  return result;
}

/// Where new levels begin. The price of a level is that of Bayes' information criterion.
std::vector<std::size_t> segment(Values values, double deviation, std::size_t fewest) {
  const std::size_t n = values.size();
  std::vector<double> sums(n + 1, 0.0);
  std::vector<double> squares(n + 1, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    const double value = (values[i] - values[0]) / deviation;
    sums[i + 1] = sums[i] + value;
    squares[i + 1] = squares[i] + value * value;
  }
  const auto cost = [&](std::size_t begin, std::size_t end) {
    const double sum = sums[end] - sums[begin];
    return squares[end] - squares[begin] - sum * sum / static_cast<double>(end - begin);
  };
  const double price = 2 * std::log(static_cast<double>(n));
  std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> previous(n + 1, 0);
  best[0] = 0;
  for (std::size_t end = fewest; end <= n; ++end) {
    for (std::size_t begin = 0; begin + fewest <= end; ++begin) {
      const double total = best[begin] + cost(begin, end) + (begin > 0 ? price : 0);
      if (total < best[end]) {
        best[end] = total;
        previous[end] = begin;
      }
    }
  }
  std::vector<std::size_t> begins;
  for (std::size_t end = n; previous[end] > 0; end = previous[end]) begins.push_back(previous[end]);
  std::ranges::reverse(begins);
  return begins;
}

/// Moves a change by a run or two to where the values fit best the levels on either side.
std::size_t place(Values values, std::size_t from, std::size_t at, std::size_t to,
                  std::size_t fewest) {
  const double before = centre_of(values.subspan(from, at - from));
  const double after = centre_of(values.subspan(at, to - at));
  std::size_t best = at;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = std::max(from + fewest, at - 2); i <= std::min(to - fewest, at + 2); ++i) {
    double misfit = 0;
    for (std::size_t k = from; k < to; ++k)
      misfit += std::abs(values[k] - (k < i ? before : after));
    if (misfit < least) {
      least = misfit;
      best = i;
    }
  }
  return best;
}

/// A difference of two levels that may be a change.
struct LevelChange {
  Step step;
  double p = 1;
};

LevelChange compare_levels(Values before, Values after, const SeriesNoise& noise,
                           double num_chances) {
  const double log_ratio = centre_of(after) - centre_of(before);
  const double error =
      kCentreError * noise.deviation *
      std::sqrt(1.0 / static_cast<double>(before.size()) + 1.0 / static_cast<double>(after.size()));
  const double cautious =
      cautious_centre_of(after, centre_of(before)) - cautious_centre_of(before, centre_of(after));
  const double certain = std::max(0.0, log_ratio > 0 ? cautious : -cautious);
  LevelChange change;
  change.p = std::min(1.0, 2 * num_chances * t_tail(certain / error, noise.dof));
  const double half = t_of_95_percent(noise.dof) * error;
  change.step.ratio = {std::exp(log_ratio), std::exp(log_ratio - half), std::exp(log_ratio + half)};
  return change;
}

/// A history while it is judged.
class Series {
 public:
  Series(std::size_t index, const History& history, const SeriesNoise& noise,
         const SeriesNoise& check_noise, double least)
      : index_(index),
        values_(history.values),
        checks_(history.checks),
        noise_(noise),
        check_noise_(check_noise),
        fewest_(history.checks.empty() ? kFewestRuns : kFewestRunsAlone),
        least_(least) {
    const Values values = values_;
    if (values.size() < 2 * fewest_) return;
    begins_ = segment(filtered(values), noise.deviation, fewest_);
    for (std::size_t i = 0; i < begins_.size(); ++i) {
      begins_[i] = place(values, i == 0 ? 0 : begins_[i - 1], begins_[i],
                         i + 1 < begins_.size() ? begins_[i + 1] : values.size(), fewest_);
    }
    drop_small();
  }

  std::vector<LevelChange> steps() const {
    std::vector<LevelChange> steps;
    for (std::size_t i = 0; i < begins_.size(); ++i) {
      steps.push_back(checked(level(i), level(i + 1), static_cast<double>(values_.size())));
    }
    return steps;
  }

  void keep(const std::vector<std::size_t>& begins) { begins_ = begins; }

  /// Between the changes that were kept: what adds up.
  std::vector<LevelChange> gradual() const {
    std::vector<LevelChange> found;
    for (std::size_t i = 0; i <= begins_.size(); ++i) {
      const Values runs = level(i);
      const std::size_t part = runs.size() / kGradualParts;
      if (part < fewest_) continue;
      LevelChange change = checked(runs.first(part), runs.last(part), 1);
      if (!is_large(change)) continue;
      change.step.kind = StepKind::gradual;
      change.step.last_before = begin_of(i);
      change.step.first_after = begin_of(i) + runs.size() - 1;
      found.push_back(change);
    }
    return found;
  }

  /// The newest runs, if they are off and too few to tell.
  std::vector<LevelChange> pending() const {
    for (std::size_t few = fewest_ - 1; few > 0; --few) {
      const Values runs = level(begins_.size());
      if (runs.size() < fewest_ + few) continue;
      const Values after = runs.last(few);
      const Values before = runs.first(runs.size() - few);
      const double old_level = centre_of(before);
      const double bound = std::max(least_, kPendingDeviations * noise_.deviation);
      const bool above = after[0] > old_level;
      const bool off = std::ranges::all_of(after, [&](double value) {
        return above ? value > old_level + bound : value < old_level - bound;
      });
      if (!off) continue;
      LevelChange change = checked(before, after, 1);
      if (change.p > kFalseDiscoveryRate) continue;
      change.step.kind = StepKind::pending;
      change.step.q = change.p;
      return {change};
    }
    return {};
  }

 private:
  /// Compares two parts of the values. A claim in which the checks have to agree is as likely to be
  /// false as the weaker of the two.
  LevelChange checked(Values before, Values after, double num_chances) const {
    const auto begin_of = [this](Values part) {
      return static_cast<std::size_t>(part.data() - values_.data());
    };
    LevelChange change = compare_levels(before, after, noise_, num_chances);
    change.step.series = index_;
    change.step.last_before = begin_of(before) + before.size() - 1;
    change.step.first_after = begin_of(after);
    if (checks_.empty()) return change;
    const auto same_runs = [&](Values part) {
      return checks_.subspan(begin_of(part), part.size());
    };
    const LevelChange check =
        compare_levels(same_runs(before), same_runs(after), check_noise_, num_chances);
    const bool agree =
        (check.step.ratio.value > 1) == (change.step.ratio.value > 1) && is_large(check);
    change.p = agree ? std::max(change.p, check.p) : 1.0;
    return change;
  }
  std::size_t begin_of(std::size_t level) const { return level == 0 ? 0 : begins_[level - 1]; }
  Values level(std::size_t index) const {
    const std::size_t end = index < begins_.size() ? begins_[index] : values_.size();
    return values_.subspan(begin_of(index), end - begin_of(index));
  }
  bool is_large(const LevelChange& change) const {
    return std::abs(std::log(change.step.ratio.value)) >= least_;
  }

  /// Joins levels that differ by less than counts, the nearest first: what is left may be a drift.
  void drop_small() {
    while (!begins_.empty()) {
      const auto size = [&](std::size_t i) {
        return std::abs(centre_of(level(i)) - centre_of(level(i + 1)));
      };
      std::size_t smallest = 0;
      for (std::size_t i = 1; i < begins_.size(); ++i) {
        if (size(i) < size(smallest)) smallest = i;
      }
      if (size(smallest) >= least_) return;
      begins_.erase(begins_.begin() + static_cast<std::ptrdiff_t>(smallest));
    }
  }

  std::size_t index_;
  Values values_;
  Values checks_;
  SeriesNoise noise_;
  SeriesNoise check_noise_;
  std::size_t fewest_;
  double least_;
  std::vector<std::size_t> begins_;
};

/// Keeps those that are no chance among `num_series`. A series without any counts as one that shows
/// nothing.
std::vector<Step> significant(std::vector<LevelChange> changes, std::size_t num_series) {
  std::vector<double> p;
  for (const LevelChange& change : changes) p.push_back(change.p);
  p.resize(std::max(p.size(), num_series), 1.0);
  const std::vector<double> adjusted = adjusted_p(p);
  std::vector<Step> steps;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    changes[i].step.q = adjusted[i];
    if (adjusted[i] <= kFalseDiscoveryRate) steps.push_back(changes[i].step);
  }
  return steps;
}

}  // namespace

std::string_view to_text(StepKind kind) {
  constexpr std::array<std::string_view, 4> kWords{"step", "gradual", "pending", "few_runs"};
  return kWords.at(static_cast<std::size_t>(kind));
}

std::vector<Step> find_steps(std::span<const History> histories, double least_ratio) {
  const std::vector<SeriesNoise> noises = noises_of(histories, &History::values);
  const std::vector<SeriesNoise> check_noises = noises_of(histories, &History::checks);
  const std::size_t num_series = histories.size();
  std::vector<Series> all;
  std::vector<LevelChange> changes;
  for (std::size_t i = 0; i < num_series; ++i) {
    all.emplace_back(i, histories[i], noises[i], check_noises[i], std::log1p(least_ratio));
    for (const LevelChange& change : all.back().steps()) changes.push_back(change);
  }
  std::vector<Step> steps = significant(std::move(changes), num_series);

  std::vector<std::vector<std::size_t>> begins(num_series);
  for (const Step& step : steps) begins[step.series].push_back(step.first_after);
  std::vector<LevelChange> gradual;
  for (std::size_t i = 0; i < num_series; ++i) {
    all[i].keep(begins[i]);
    for (const LevelChange& change : all[i].gradual()) gradual.push_back(change);
    for (const LevelChange& change : all[i].pending()) steps.push_back(change.step);
  }
  for (const Step& step : significant(std::move(gradual), num_series)) steps.push_back(step);
  std::ranges::sort(steps, [](const Step& a, const Step& b) {
    return std::pair(a.series, a.first_after) < std::pair(b.series, b.first_after);
  });
  return steps;
}

}  // namespace assay
