#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/device_info.h"
#include "base/trial.h"
#include "space/plan.h"
#include "spec/kernel_spec.h"

namespace assay {

/// What a contract and its source say differently, as far as can be seen without a compiler: a
/// parameter that nothing reads, arguments of other types than the entry point's parameters or in
/// another order than their names, and a launch that does not say that its blocks wait for each
/// other. Each is a sentence with its place. Nothing where the source cannot be read: whoever
/// compiles it says so.
std::vector<std::string> source_warnings(
    const KernelSpec& kernel, const std::vector<std::filesystem::path>& include_directories);

/// Arguments of other types than the parameters of the templates that a configuration launches.
/// `symbols` are the entries' names in machine code, which say what the template's types are.
std::vector<std::string> template_warnings(const KernelSpec& kernel, const Config& config,
                                           const std::map<std::string, std::string>& symbols);

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
