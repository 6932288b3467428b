#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/device_info.h"
#include "cuda/nvml.h"
#include "judge/check.h"
#include "judge/reference.h"
#include "messages/requests.h"
#include "support/arena.h"
#include "support/inputs.h"
#include "timing/timer.h"

namespace assay {

/// Numbers that no kernel can foresee: each is 64 bits of the operating system's randomness. A
/// generator with a state could be found from what a kernel sees, as from the inputs that it makes.
class Secret {
 public:
  /// Throws Error when the operating system has none.
  std::uint64_t operator()();

 private:
  std::array<std::uint64_t, 32> drawn_{};  // as many bytes as getentropy gives at once
  std::size_t num_left_ = 0;
};

/// What all trials on one GPU share: the harness's own kernels, the timer, the inputs and
/// references of the current problem, and the memory for outputs.
struct WorkerState {
  /// Throws Error (the cubin is not readable), CudaError.
  WorkerState(const Driver& cuda, CUstream work_stream, const DeviceInfo& device_info,
              const std::string& support_cubin, const std::optional<Ceilings>& known_ceilings);
  WorkerState(const WorkerState&) = delete;
  WorkerState& operator=(const WorkerState&) = delete;

  /// Waits for the stream. Throws CudaError for anything that went wrong on it.
  void synchronise() const;

  /// The time between two events around an empty kernel. It is measured when first asked for.
  double event_floor_ns();

  /// assay::measure. It also notes the state that the GPU was in at the end.
  Timing measure(const TimedWork& work, const MeasureSpec& spec,
                 std::optional<double> best_ns = {});

  /// Runs `trial`. What it throws about a configuration becomes its outcome. Afterwards the stream
  /// is idle, or context_lost is true.
  Outcome guarded(const std::function<Outcome()>& trial);

  /// Forgets inputs and references if they were made for a problem other than `problem`.
  void enter_problem(const Problem& problem);
  /// Gives back all memory that can be made again.
  void release_memory();

  const Driver& driver;
  CUstream stream;
  DeviceInfo info;
  SupportKernels support;
  Timer timer;
  OperationEngine engine;
  Inputs inputs;
  References references;
  Checker checker;
  Arena arena;
  Secret secret;
  std::optional<Ceilings> ceilings;
  std::optional<Nvml> nvml;                                 // nothing where it is not installed
  std::map<std::string, std::vector<int>> best_algorithms;  // of cuBLASLt, by problem and reference
  std::string problem;
  double known_event_floor_ns = 0;
  bool context_lost = false;
};

}  // namespace assay
