#pragma once

#include <vector>

#include "judge/check.h"
#include "space/plan.h"
#include "worker/worker_state.h"

namespace assay {

/// What the launches of `prepare` write, in memory of its own: between two launches of an entry,
/// those of others run, and each must find there what it prepared.
class PreparedBuffers {
 public:
  /// Enqueues the poison. Throws CudaError.
  PreparedBuffers(WorkerState& worker, const Plan& plan);

  const std::vector<SealedBuffer>& all() const { return buffers_; }
  /// Enqueues the hashes of what was prepared, so that a check can tell whether a launch changed
  /// it.
  void seal() const;

 private:
  WorkerState* worker_;
  DeviceMemory memory_, seals_;
  std::vector<SealedBuffer> buffers_;
};

}  // namespace assay
