#pragma once

#include <string>
#include <vector>

#include "base/rank.h"

namespace assay {

/// What breaks a tie, in this order: fewer spills, fewer registers, fewer bytes of shared memory,
/// then the text of the configuration.
struct TieBreak {
  int spill_bytes = 0;
  int registers = 0;
  std::int64_t smem_bytes = 0;  // static plus dynamic
};

/// An entry as the device timed it. rank_entries fills in how it compares with the others.
struct TimedEntry : RankEntry {
  TieBreak tie_break = {};  // unused for a baseline
};

/// The least difference in time that is called a difference. One re-rank knows a ratio to 0.1 % or
/// less, but the ratio changes from process to process: over 15 processes it spreads by 0.2 to
/// 0.4 % at 4096^3 and by 0.3 % at 12 us (H200). A verdict that is to be found again needs a margin
/// of more than half of that spread. A difference of half a percent is a tie.
inline constexpr double kLeastTimeMargin = 0.006;
/// The same for energy, whose counter is coarser.
inline constexpr double kLeastEnergyMargin = 0.01;

/// Turns the times of a re-rank into a verdict.
///
/// The *reference* is the best configuration by the objective, among those that passed and took
/// part in all rounds. The best by time has the least midmean.
///
/// By time, a configuration is tied with the reference if the interval of their paired ratio
/// includes 1, or if it is behind by no more than the margin. The margin is `noise_ratio` (0.002 =
/// 0.2 %) or the least margin above, whichever is larger. By energy, and by energy times median
/// time, a configuration is tied if it is behind by no more than the least margin.
///
/// The winner is chosen among the tied that are behind by no more than a quarter of the margin: it
/// is the first of them by TieBreak. So the winner will again be among the tied when everything is
/// measured again.
///
/// In the result, ratios are of times, and to the winner. The baseline is the fastest of the
/// baselines by midmean. Those that dropped out come after those that stayed, and those that failed
/// come last.
std::vector<RankEntry> rank_entries(std::vector<TimedEntry> entries, double noise_ratio = 0,
                                    Objective objective = Objective::time);

/// What the best has least of: the midmean of the times, joules, or joules times nanoseconds. 0 by
/// time for an entry without samples.
double cost_of(const RankEntry& entry, Objective objective);

}  // namespace assay
