#pragma once

#include <map>

#include "cuda/fenced_memory.h"
#include "worker/worker_state.h"

namespace assay {

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
