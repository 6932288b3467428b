#pragma once

#include <string>

#include "spec/kernel_spec.h"

namespace assay {

/// Checks that each launch passes as many bytes for each parameter as its entry in the cubin has.
/// An entry that the cubin lacks is left to whoever launches it. Throws SpecError at the arguments.
void check_launch_arguments(const KernelSpec& kernel, const std::string& cubin);

/// The same for a kernel of the reference. Throws SpecError also for a missing entry.
void check_reference_arguments(const KernelSpec& kernel, const ReferenceKernelSpec& reference,
                               const std::string& cubin);

}  // namespace assay
