#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"
#include "report/tuned_table.h"

namespace assay {

struct BestLayout {
  bool wide = false;  // whole parameter names, every parameter in every line
  bool ties = false;  // list the ties under each table
  Terminal terminal = {};
};

/// A table for each op, device, protocol and objective: problem, winner, time, margin over the
/// baseline, ties, and where it was measured, said once where all were measured there and then; the
/// energy and the metric where the objective reads them, and how near the times are to the device's
/// ceilings where that is known. Below it the Pareto list of each problem, where there are several
/// objectives. Empty for no tables.
std::string best_text(const std::vector<TunedTable>& tables, const BestLayout& options);

/// The same as {"best": [one object an entry]}.
std::string best_json(const std::vector<TunedTable>& tables);

}  // namespace assay
