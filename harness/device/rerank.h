#pragma once

#include <string>
#include <vector>

#include "device/bench.h"

namespace assay {

/// Device::rerank, given a bench.
RerankResult rerank_in_turn(Bench& bench, const std::vector<TrialRequest>& candidates,
                            const std::vector<std::string>& baselines, const RerankSpec& spec);

}  // namespace assay
