#pragma once

#include "base/device_info.h"
#include "spec/sweep_spec.h"

namespace assay {

/// Checks the shapes of a reference's steps for a problem, by the first configuration that is found
/// soon. Throws SpecError at a step whose shapes do not fit.
void check_reference_shapes(const KernelSpec& kernel, const Problem& problem,
                            const DeviceInfo& device);
/// The same for all kernels and problems of a sweep.
void check_reference_shapes(const SweepSpec& sweep, const DeviceInfo& device);

}  // namespace assay
