#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "store/store.h"

namespace assay {

/// A kernel's best configuration for a problem, or the op's fastest baseline.
struct StandingRow {
  int rank = 0;        // among the kernels; those that cannot be told from the best share 1
  std::string kernel;  // empty: a baseline
  std::string name;    // the text of the configuration, or the baseline's name
  double time_ns = 0;
  Interval ratio_to_best = {};  // time(this) / time(best), paired; zeros: not timed in turn with it
};

/// Which of all kernels are fast for a problem.
struct Standing {
  Question question;
  std::vector<StandingRow> rows;  // those that were re-ranked, fastest first, then the others
};

/// The standings of all questions that these results answer, in their order.
std::vector<Standing> standings_of(const Results& results);

std::string standings_text(const std::vector<Standing>& standings, const Terminal& terminal);
nlohmann::ordered_json standings_json(const std::vector<Standing>& standings);

}  // namespace assay
