#pragma once

#include <optional>
#include <span>

#include "base/stats.h"
#include "base/trial.h"
#include "cuda/driver.h"
#include "cuda/nvml.h"
#include "spec/sweep_spec.h"
#include "timing/timer.h"

namespace assay {

/// Takes samples until the interval of the median is narrow enough, the work is clearly slower than
/// `best_ns`, or the time is up. A sample at a lowered clock is taken again, a few times at most.
/// Throws like Timer::sample.
Timing measure(Timer& timer, const TimedWork& work, const MeasureSpec& spec,
               std::optional<double> best_ns = {});

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

/// The energy of one launch of `work`, in joules. Launches run back to back for about `seconds`.
/// The energy that the whole board takes in that time is divided by their number. Each launch finds
/// in L2 what the one before left there.
///
/// Nothing when the counter does not move. Waits. Throws CudaError, and what `work.after_load`
/// throws.
std::optional<double> joules_per_launch(const SupportKernels& support, const Nvml& nvml,
                                        const TimedWork& work, double seconds);

}  // namespace assay
