#pragma once

#include <string>
#include <vector>

#include "base/rank.h"

namespace assay {

/// What the fixed tie-break looks at, best first: fewer spills, registers, bytes of shared memory,
/// then the configuration's text.
struct TieBreak {
  int spill_bytes = 0;
  int registers = 0;
  std::int64_t smem_bytes = 0;  // static plus dynamic
};

/// An entry as the device timed it; rank_entries fills in what the others make of it.
struct TimedEntry : RankEntry {
  TieBreak tie_break = {};  // unused for a baseline
};

/// The least difference in time that is called one. The re-rank knows a ratio to 0.1 % or less, but
/// over processes it spreads: its ends are 0.2 to 0.4 % apart at 4096^3 and 0.3 % at 12 us (15
/// processes, H200), and a verdict that is to be found again needs room beyond half of that. Half a
/// percent is a tie.
inline constexpr double kLeastTimeMargin = 0.006;
/// Likewise for energy, whose counter is coarser.
inline constexpr double kLeastEnergyMargin = 0.01;

/// Turns rounds taken in turn into a verdict. The best by the objective (by time: the least
/// midmean) among the configurations that passed all rounds is the reference. By time, those whose
/// paired ratio to it has an interval that includes 1 are tied with it, and so are those within the
/// margin, which is the larger of `noise_ratio` (0.002 = 0.2 %) and the least; by energy, or energy
/// times median time, those within the least margin. The winner is the first by TieBreak of the
/// tied within a quarter of the margin, so that a winner is among the tied when the whole is
/// measured again.
///
/// Ratios in the result are of times and to the winner; the baseline is the fastest of the
/// baselines by midmean. The eliminated come after those that stayed, the failed last.
std::vector<RankEntry> rank_entries(std::vector<TimedEntry> entries, double noise_ratio = 0,
                                    Objective objective = Objective::time);

}  // namespace assay
