#pragma once

#include <map>
#include <string>

#include "base/device_info.h"
#include "base/trial.h"
#include "space/plan.h"

namespace assay {

/// Checks that each launch passes as many bytes for each parameter as its entry in the cubin has.
/// `symbols` are the names in the cubin of the entries that are launched. Throws SpecError at the
/// arguments.
void check_launch_arguments(const KernelSpec& kernel, const Config& config,
                            const std::map<std::string, std::string>& symbols,
                            const std::string& cubin);

/// The same for a kernel of the reference, which the cubin has under the name `symbol`.
void check_reference_arguments(const KernelSpec& kernel, const ReferenceKernelSpec& reference,
                               const std::string& symbol, const std::string& cubin);

/// Checks that the cubin has the variables that arguments are copied to. Throws SpecError at an
/// argument whose variable is missing, PlanError for one that is too small.
void check_variables(const KernelSpec& kernel, const Plan& plan, const std::string& cubin);

/// Checks that all blocks of a cooperative launch are resident at once. Throws PlanError otherwise.
void check_cooperative(const Plan& plan, const std::string& cubin, const DeviceInfo& device);

}  // namespace assay
