#pragma once

#include "base/device_info.h"
#include "base/objective.h"
#include "base/trial_record.h"
#include "spec/kernel_spec.h"

namespace assay {

/// The names that `objective` reads, with what they stand for in a trial on a device: all but the
/// time and the energy, which a re-rank measures. One that has no answer, such as a counter that
/// nobody read, is left out.
NamedFigures figures_of(const Objective& objective, const KernelSpec& kernel,
                        const TrialRecord& trial, const DeviceInfo& device);

}  // namespace assay
