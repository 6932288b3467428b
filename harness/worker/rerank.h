#pragma once

#include <string>
#include <vector>

#include "worker/worker_state.h"

namespace assay {

/// A worker's part of Device::rerank. If `num_workers` share the rounds, each takes its share of
/// the rounds and seconds, and aims at its share of the precision.
///
/// If a candidate loses the context, the result is incomplete, and of use only for the outcome of
/// that candidate. Throws CudaError and Failure where no single candidate is at fault.
RerankResult rerank_in_turn(WorkerState& worker, const std::vector<TrialRequest>& candidates,
                            const std::vector<std::string>& baselines, const RerankSpec& spec,
                            int num_workers);

}  // namespace assay
