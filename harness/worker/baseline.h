#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/lt_matmul.h"
#include "worker/prepared_buffers.h"
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

/// How many algorithms of a baseline take part in a re-rank. The one that a quick look prefers
/// changes from process to process, and with it the baseline, by up to 1 % at 4096^3 on an H200. So
/// those that are not much slower in the quick look take part, too. cuBLASLt offers 8 there.
inline constexpr std::size_t kMostAlgorithms = 8;

/// cuBLASLt's product for the problem of `request`. Its inputs are the same, and its output is
/// where the trial's first output is in the arena.
struct ProductBaseline : Baseline {
  /// Throws Failure when the kernel's reference is not one gemm, Error without cuBLASLt. The arena
  /// must be reserved.
  ProductBaseline(WorkerState& worker, const TrialRequest& request);

  void enqueue(int algorithm) const { product->enqueue(algorithm, out); }
  TimedWork timed(int algorithm) const override;
  /// The first choice, then the other algorithms that may be the fastest.
  std::vector<int> ways(WorkerState& worker) override;
  /// The algorithms that may be the fastest, the most likely first. They are looked for once for
  /// each problem and reference.
  const std::vector<int>& best_algorithms(WorkerState& worker);

  std::string key;
  std::optional<GuardZones> zones;
  std::optional<Redraw> redraw;
  CUdeviceptr out = 0;
  std::unique_ptr<LtMatmul> product;
};

}  // namespace assay
