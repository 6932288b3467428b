#pragma once

#include <optional>

#include "base/trial.h"
#include "spec/sweep_spec.h"
#include "timing/timer.h"

namespace assay {

/// Takes samples until the interval of the median is narrow enough, the work is clearly slower than
/// `best_ns`, or the time is up. A sample at a lowered clock is taken again, a few times at most.
/// Throws like Timer::sample.
Timing measure(Timer& timer, const TimedWork& work, const MeasureSpec& spec,
               std::optional<double> best_ns = {});

}  // namespace assay
