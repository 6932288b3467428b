#pragma once

#include <string>
#include <vector>

#include "base/recording.h"

namespace assay {

/// What the fixed tie-break looks at, best first: fewer spills, registers, bytes of shared memory,
/// then the configuration's text.
struct TieBreak {
  int spill_bytes = 0;
  int registers = 0;
  std::int64_t smem_bytes = 0;  // static plus dynamic
};

/// One entrant as the device returned it.
struct Entrant {
  std::string kernel;  // empty for a baseline
  std::string config;
  std::vector<double> samples_ns;  // one per round
  TieBreak tie_break;              // unused for a baseline
  std::string failure;             // why its last check failed; empty when it passed
  std::vector<double> clocks_mhz = {};
  bool eliminated = false;
  double energy_j = 0;
};

/// Turns rounds taken in turn into a verdict. The fastest by median among the configurations that
/// passed is the reference; those whose paired ratio to it has an interval that includes 1 are tied
/// with it; the winner is the first of the tied by TieBreak. Ratios in the result are to the
/// winner; the baseline is the fastest of the baselines by median. Failed entrants come last.
/// Whatever its interval says, a margin of at most `noise_ratio` (0.002 = 0.2 %) is a tie.
std::vector<RankEntry> rank_entrants(std::vector<Entrant> entrants, double noise_ratio = 0,
                                     Objective objective = Objective::time);

}  // namespace assay
