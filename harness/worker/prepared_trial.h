#pragma once

#include <optional>
#include <string>

#include "support/launcher.h"
#include "worker/worker_state.h"

namespace assay {

/// A configuration that is ready to run: its code is loaded, its arguments are set, its buffers
/// have their memory, and its reference is known.
class PreparedTrial {
 public:
  /// Places outputs and scratch at the start of the worker's arena, which must hold
  /// `arena_bytes(request.plan)`. All prepared trials at one time share that memory. Throws
  /// Failure, CudaError, Error (cuBLAS is not there).
  PreparedTrial(WorkerState& worker, const TrialRequest& request);

  static std::size_t arena_bytes(const Plan& plan);

  /// Enqueues the memsets and launches that are timed.
  void enqueue() const { launcher_.enqueue(worker_->stream); }

  /// The trial as it is timed, so that no launch can tell whether it is checked. Ahead of each,
  /// what outputs and scratch hold is drawn anew: poison, or numbers like the right ones. Now and
  /// then, which no kernel can foresee, what the timed launch left is checked. Valid as long as
  /// this.
  TimedWork timed();

  /// Poisons outputs and scratch, launches once, and checks everything the launch did. If the
  /// contract says deterministic, the outputs must also equal those of the first check, bit for
  /// bit. Throws Failure, CudaError.
  Validation check();
  /// The same with L2 evicted before the launch. The timing is then different, so races show.
  Validation check_cold();
  /// The same where outputs and scratch hold numbers like the right ones, as ahead of most timed
  /// launches. A kernel that does nothing where its work seems done shows.
  Validation check_over_numbers();
  /// See unchecked_note().
  const std::string& reference_note() const { return reference_note_; }

 private:
  Validation check_after(const Work& before);
  void redraw();
  void draw_numbers();
  /// What the last launch left.
  Validation judge();

  WorkerState* worker_;
  bool deterministic_;
  std::string reference_note_;
  std::string reference_text_;
  CUdeviceptr arena_begin_;
  std::size_t arena_bytes_;
  CheckedBuffers buffers_;
  Launcher launcher_;
  std::optional<std::vector<std::uint64_t>> first_hashes_;
};

/// Where the outputs and scratch of a plan are in the arena, in the order of the arguments.
std::vector<GuardedBuffer> lay_out(const Plan& plan, CUdeviceptr begin);

/// The plan's inputs by name. Those that do not exist yet are made.
InputMap make_inputs(WorkerState& worker, const Plan& plan, std::uint64_t seed);

}  // namespace assay
