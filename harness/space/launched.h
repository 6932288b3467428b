#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/device_info.h"
#include "spec/kernel_spec.h"

namespace assay {

/// The entries that a configuration may launch, with values in place of parameters. A launch whose
/// `when` is 0 whatever the problem is needs none. Throws UsageError as make_plan does.
std::vector<std::string> launched_entries(const KernelSpec& kernel, const Config& config,
                                          const DeviceInfo& device);

/// The limit on a thread's registers; 0 if the contract has none. Throws SpecError for a limit that
/// cannot be.
std::int64_t max_registers(const KernelSpec& kernel, const Config& config,
                           const DeviceInfo& device);

/// Whether a configuration is compiled with --use_fast_math. Throws SpecError, as those below do,
/// where an expression has no answer.
bool is_fast_math(const KernelSpec& kernel, const Config& config, const DeviceInfo& device);
/// The same of baselines, which no parameter changes.
bool is_fast_math_always(const KernelSpec& kernel);

/// The further options of NVRTC.
std::vector<std::string> compiler_options(const KernelSpec& kernel, const Config& config,
                                          const DeviceInfo& device);

/// The contract's macros for one configuration and problem.
std::map<std::string, std::string> defines(const KernelSpec& kernel, const Problem& problem,
                                           const Config& config, const DeviceInfo& device);
/// The same for a kernel of the reference, a fill or a baseline, with its own macros. One that
/// reads a parameter stays as written.
std::map<std::string, std::string> own_defines(const KernelSpec& kernel,
                                               const ReferenceKernelSpec& own,
                                               const Problem& problem, const DeviceInfo& device);

/// The parameters that become macros: those that stand in no entry.
Config macros_of(const KernelSpec& kernel, const Config& config);

/// The problem's sizes that are dims of the kernel.
Config sizes_of(const KernelSpec& kernel, const Problem& problem);

/// The macros that a kernel of the reference gets: those of the sizes that are not its arguments.
Config reference_macros(const KernelSpec& kernel, const ReferenceKernelSpec& reference,
                        const Problem& problem);

}  // namespace assay
