#pragma once

#include "base/device_info.h"
#include "base/objective.h"
#include "base/trial.h"
#include "spec/kernel_spec.h"

namespace assay {

/// The names that `objective` reads, with what they stand for in a configuration that was compiled:
/// all but the time and the energy, which are measured. One that has no answer is left out.
NamedFigures figures_of(const Objective& objective, const KernelSpec& kernel,
                        const Problem& problem, const Config& config, const DeviceInfo& device,
                        const CompileReport& compile);

}  // namespace assay
