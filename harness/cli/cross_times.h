#pragma once

#include <vector>

#include "pack/cover.h"
#include "report/tuned_table.h"

namespace assay {

/// What was measured of configurations for the problems of a table: the medians of the screening.
struct MeasuredConfigs {
  /// Of each configuration and problem, as in `times`; null: not measured.
  std::vector<std::vector<const TrialRow*>> trials;
  CrossTimes times;
  /// The configuration of each row. Of one that was not measured nothing else is known.
  std::vector<std::size_t> winners;
};

/// Takes the newest trial of each. What is returned points into `trials`.
MeasuredConfigs measured_configs(const TunedTable& table, const std::vector<TrialRow>& trials);

/// Gives each row the configuration, with what its trial says of it.
void choose_configs(TunedTable& table, const MeasuredConfigs& measured,
                    const std::vector<std::size_t>& chosen);

}  // namespace assay
