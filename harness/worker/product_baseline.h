#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/lt_matmul.h"
#include "worker/redraw.h"
#include "worker/worker_state.h"

namespace assay {

/// cuBLASLt's product for the problem of `request`. Its inputs are the same, and its output is
/// where the trial's first output is in the arena.
struct ProductBaseline {
  /// Throws Failure when the kernel's reference is not one gemm, Error without cuBLASLt. The arena
  /// must be reserved.
  ProductBaseline(WorkerState& worker, const TrialRequest& request);

  void enqueue(int algorithm) const { product->enqueue(algorithm, out); }
  /// An algorithm as it is timed, with the same ahead of it as ahead of a candidate. Valid as long
  /// as this.
  TimedWork timed(int algorithm) const;
  /// The algorithms that may be the fastest, the most likely first. They are looked for once for
  /// each problem and reference.
  const std::vector<int>& best_algorithms(WorkerState& worker);

  std::string key;
  std::optional<Redraw> redraw;
  CUdeviceptr out = 0;
  std::unique_ptr<LtMatmul> product;
};

/// Throws UsageError for a name that is no baseline.
void require_baseline(const std::string& name);

/// Device::run_baselines, as a worker does it.
std::vector<BaselineTiming> time_baselines(WorkerState& worker, const TrialRequest& request,
                                           const std::vector<std::string>& baselines);

}  // namespace assay
