#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "store/store.h"

namespace assay {

/// The trials of one question as columns, one place for each trial, in the order given: status,
/// time, registers, the seconds since the first, and for each parameter the place of its value
/// among its values. Texts that many share (kernels, kinds of failure, messages) are written once.
nlohmann::ordered_json page_trials_json(const std::vector<const TrialRow*>& rows);

}  // namespace assay
