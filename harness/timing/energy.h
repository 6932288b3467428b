#pragma once

#include <optional>

#include "cuda/driver.h"
#include "cuda/nvml.h"
#include "timing/timer.h"

namespace assay {

/// The energy of one launch of `work`, in joules. Launches run back to back for about `seconds`.
/// The energy that the whole board takes in that time is divided by their number. Each launch finds
/// in L2 what the one before left there.
///
/// Nothing when the counter does not move. Waits. Throws CudaError, and what `work.after_load`
/// throws.
std::optional<double> joules_per_launch(const Driver& driver, CUstream stream, const Nvml& nvml,
                                        const TimedWork& work, double seconds);

}  // namespace assay
