#pragma once

#include <string>
#include <vector>

#include "worker/worker_state.h"

namespace assay {

/// A worker's part of Device::rerank: where `num_workers` share the rounds, each looks for its
/// share of the precision with its share of the rounds and seconds.
RerankResult rerank_in_turn(WorkerState& worker, const std::vector<TrialRequest>& candidates,
                            const std::vector<std::string>& baselines, const RerankSpec& spec,
                            int num_workers);

}  // namespace assay
