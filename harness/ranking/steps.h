#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/stats.h"

namespace assay {

/// `pending`: so near the newest run that it may be an outlier. `gradual`: in steps too small to be
/// found one by one. `few_runs`: seen in a history that is too short to find a step in; only who
/// shows a history adds such, find_steps does not.
enum class StepKind { step, gradual, pending, few_runs };
std::string_view to_text(StepKind kind);

/// A change of level in the history of one result.
struct Step {
  std::size_t series = 0;
  StepKind kind = StepKind::step;
  std::size_t last_before =
      0;  // last run at the old level; of a gradual one, the first of its runs
  std::size_t first_after =
      0;                       // first run at the new level; of a gradual one, the last of its runs
  Interval ratio = {1, 1, 1};  // new level / old level, with its 95 % interval
  double q = 1;                // adjusted p-value; of a pending one its own p-value
};

/// A change is one of at least so many runs on either side; a later one is pending.
inline constexpr std::size_t kFewestRuns = 3;
/// The same without a baseline, when nothing but more runs tells a busy neighbour from a change.
inline constexpr std::size_t kFewestRunsAlone = 5;

/// One result over many runs, oldest first.
struct History {
  /// Logarithms of the time relative to a baseline; of the time itself if there is none.
  std::vector<double> values;
  /// If there is no baseline, logarithms of the cycles: a change has to show in both. Else none.
  std::vector<double> checks = {};
};

/// The changes in many histories, which are judged together, in the order of the histories, then of
/// the runs.
///
/// No change is smaller than `least_ratio` (0.01 = 1 %). Over all series the rate of false
/// discoveries is kept at kFalseDiscoveryRate. The same histories always have the same changes.
std::vector<Step> find_steps(std::span<const History> histories, double least_ratio);

}  // namespace assay
