#pragma once

#include <string>
#include <vector>

#include "base/rank.h"

namespace assay {

/// The least difference in time that is called a difference. One re-rank knows a ratio to 0.1 % or
/// less, but the ratio changes from process to process: over 15 processes it spreads by 0.2 to
/// 0.4 % at 4096^3 and by 0.3 % at 12 us (H200). A verdict that is to be found again needs a margin
/// of more than half of that spread. A difference of half a percent is a tie.
inline constexpr double kLeastTimeMargin = 0.006;
/// The same for energy, whose counter is coarser.
inline constexpr double kLeastEnergyMargin = 0.01;
/// Above this noise floor nobody wins. On a GPU that is left to a sweep it is below 0.5 %. A kernel
/// that slows one of two copies of its own code could else have all that are behind it tied.
inline constexpr double kMostNoise = 0.05;

/// Turns the times of a re-rank into a verdict: fills in how each entry compares with the others.
///
/// The *cost* of an entry is what an objective makes least. A metric that reads the time has a cost
/// in each round, and all together the midmean of these. The *reference* is the configuration of
/// the least cost by the first objective, among those that passed and took part in all rounds.
///
/// A configuration is behind another beyond the noise if the interval of their paired ratio of
/// costs excludes 1, and it is behind by more than the margin. By time the margin is `noise_ratio`
/// (0.002 = 0.2 %) or the least margin above, whichever is larger; by energy it is the least margin
/// of that. For a metric it is how much its cost changes with such a change of the time, of the
/// energy, or of a counter by its counter_margin(), whichever is more; so a metric that reads none
/// of them has none. Without the time there are no rounds, and the ratio has no interval.
///
/// A configuration is tied with the reference if it is not behind it beyond the noise. The winner
/// is chosen among the tied that are behind by no more than a quarter of the margin: of those that
/// no other of them dominates (see pareto_front) it is the first by TieBreak. So the winner will
/// again be among the tied when everything is measured again. There is none where the noise is
/// above kMostNoise: which is best cannot be told.
///
/// In the result, ratios are of times, and to the winner. The baseline is the fastest of the
/// baselines by midmean. Those that dropped out come after those that stayed, and those that failed
/// come last. An objective that has no answer is a failure.
std::vector<RankEntry> rank_entries(std::vector<RankEntry> entries, double noise_ratio = 0,
                                    const Objective& objective = {});

/// The cost by the first objective. 0 by time for an entry without samples; infinite if it has no
/// answer.
double cost_of(const RankEntry& entry, const Objective& objective);

/// What one objective is for an entry: its value, of which the interval is of the median, and its
/// ratio to the winner's.
struct Achieved {
  std::string objective;
  Interval value;
  Interval ratio_to_winner;
};

struct FrontEntry {
  const RankEntry* entry = nullptr;  // of the verdict
  std::vector<Achieved> achieved;    // by each of its objectives
};

/// The Pareto list of a verdict: the winner, then by the cost by the first objective all that by
/// some objective are ahead beyond the noise of each other one on the list; ties are not. One
/// dominates another if it is behind it beyond the noise by no objective, and the other is behind
/// beyond the noise by at least one.
std::vector<FrontEntry> pareto_front(const RankRecord& rank);

}  // namespace assay
