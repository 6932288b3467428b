#pragma once

#include <optional>

#include "worker/launcher.h"
#include "worker/worker_state.h"

namespace assay {

/// One configuration ready to run: code loaded, arguments bound, buffers laid out, reference known.
class PreparedTrial {
 public:
  /// Lays outputs and scratch out at the start of the worker's arena, which must hold
  /// `arena_bytes(request.plan)`; trials that are alive together share it. Throws Failure,
  /// CudaError, Error (cuBLAS is not there).
  PreparedTrial(WorkerState& worker, const TrialRequest& request);

  static std::size_t arena_bytes(const Plan& plan);

  /// Enqueues the memsets and launches that are timed.
  void enqueue() const { launcher_.enqueue(worker_->stream); }

  /// Poisons outputs and scratch, launches once and checks everything the launch did. Where the
  /// contract says deterministic, the outputs must also be those of the first check, bit for bit.
  /// Throws Failure, CudaError.
  Validation check();
  /// The same with L2 evicted before the launch: other timing, so races show.
  Validation check_cold();

 private:
  Validation check_after(const Work& before);

  WorkerState* worker_;
  bool deterministic_;
  CUdeviceptr arena_begin_;
  std::size_t arena_bytes_;
  CheckedBuffers buffers_;
  Launcher launcher_;
  std::optional<std::vector<std::uint64_t>> first_hashes_;
};

/// Where a plan's outputs and scratch lie in the arena, in the order of the arguments.
std::vector<GuardedBuffer> lay_out(const Plan& plan, CUdeviceptr begin);

/// The plan's inputs by name, made where they are new.
InputMap make_inputs(WorkerState& worker, const Plan& plan, std::uint64_t seed);

}  // namespace assay
