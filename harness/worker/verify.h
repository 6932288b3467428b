#pragma once

#include "worker/worker_state.h"

namespace assay {

/// Makes one check of a verification: launches until the spec's count or its seconds are reached.
///
///   data      on inputs of many seeds, and with each on every kind of data; tells the errors
///   launches  the same again and again, with L2 evicted or not, each of them checked
///   streams   two launches at once on two streams, which share the code but no buffer
///
/// What was done is the message of the outcome. Throws Failure for what is wrong, CudaError, Error.
Outcome run_check(WorkerState& worker, const TrialRequest& request, const VerifySpec& spec);

/// As TrialRunner::launch.
void launch_alone(WorkerState& worker, const TrialRequest& request);

}  // namespace assay
