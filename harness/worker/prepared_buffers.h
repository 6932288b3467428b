#pragma once

#include <map>
#include <vector>

#include "cuda/fenced_memory.h"
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

/// Copies of inputs in memory that can only be read and that a fence touches.
class FencedInputs {
 public:
  FencedInputs(WorkerState& worker, FencedMemory::Side side) : worker_(&worker), side_(side) {}

  /// The address of the copy of what was in `input` when first asked for. Waits for the stream
  /// then. Throws CudaError.
  CUdeviceptr of(const Input& input);

 private:
  WorkerState* worker_;
  FencedMemory::Side side_;
  std::map<const Input*, FencedMemory> copies_;
};

}  // namespace assay
