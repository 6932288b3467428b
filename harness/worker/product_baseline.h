#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/lt_matmul.h"
#include "worker/baseline.h"
#include "worker/redraw.h"

namespace assay {

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
