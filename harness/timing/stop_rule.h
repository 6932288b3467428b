#pragma once

#include <optional>
#include <span>

#include "base/stats.h"
#include "base/trial.h"
#include "spec/sweep_spec.h"

namespace assay {

/// Work that takes so long lowers the clock for the samples after it, so there is a rest between
/// two. Without a rest, a product of 9.3 ms came out 12 % slower than in a re-rank, and its median
/// was known after 80 samples (H200).
inline constexpr double kLongWorkNs = 1e6;

/// Decides after each sample whether to take another.
class StopRule {
 public:
  /// `best_ns` is the median of the fastest of the same problem so far. With it, sampling stops
  /// once the samples lie clearly above it.
  StopRule(const MeasureSpec& spec, std::optional<double> best_ns)
      : spec_(spec), best_ns_(best_ns) {}

  /// The reason to stop after these samples, which took `elapsed_s`. Nothing: take another.
  std::optional<StopReason> decide(std::span<const double> samples_ns, double elapsed_s) const;

 private:
  bool is_raced(std::span<const double> samples_ns) const;
  bool is_precise(const Interval& interval) const;

  MeasureSpec spec_;
  std::optional<double> best_ns_;
};

}  // namespace assay
