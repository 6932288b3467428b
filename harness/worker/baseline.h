#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/worker_state.h"

namespace assay {

/// What a user would run instead of the kernels, ready to run. Valid as long as the arena is.
class Baseline {
 public:
  virtual ~Baseline() = default;

  /// Compares its outputs with the reference, if the contract says its steps. Throws Failure if
  /// they are wrong.
  virtual void check() {}
  /// The ways to run it that may be the fastest; the first is a user's first choice.
  virtual std::vector<int> ways(WorkerState& worker) = 0;
  /// One of them as it is timed, with the same ahead of it as ahead of a candidate. Valid as long
  /// as this.
  virtual TimedWork timed(int way) const = 0;
};

/// Runs `work` and returns its outcome. An error of cuBLAS is a failure of the baseline and does
/// not end the sweep.
Outcome entry_outcome(WorkerState& worker, const Work& work);

/// Throws UsageError for a name that is no baseline of the plan.
void require_baseline(const Plan& plan, const std::string& name);

/// The baseline of this name, with its output where the trial's outputs are
/// in the arena, which must be reserved. Throws Failure, CudaError, Error.
std::unique_ptr<Baseline> make_baseline(WorkerState& worker, const TrialRequest& request,
                                        const std::string& name);

/// What the times of a baseline are called: `cublaslt_first` and `cublaslt_best`, the best of its
/// algorithms; or, if it has steps, its name, and with `_graph` as a CUDA graph.
std::vector<std::string> names_of_times(const TrialRequest& request, const std::string& name);

/// Device::run_baselines, as a worker does it.
std::vector<BaselineTiming> time_baselines(WorkerState& worker, const TrialRequest& request,
                                           const std::vector<std::string>& baselines);

}  // namespace assay
