#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/rank.h"
#include "report/page_data.h"

namespace assay {

/// What the winner's time is made of, and why it is faster than the runner-up and the baseline, as
/// `explain` says it, with the instructions of each. Null where the winner's trial is not there.
nlohmann::ordered_json why_json(const RankRecord& rank, const std::vector<const TrialRow*>& trials,
                                const FiguresOf& figures_of, const CodeOf& code_of);

}  // namespace assay
