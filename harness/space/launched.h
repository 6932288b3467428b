#pragma once

#include <cstdint>
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

/// The parameters that become macros: those that stand in no entry.
Config macros_of(const KernelSpec& kernel, const Config& config);

/// The problem's sizes that are dims of the kernel.
Config sizes_of(const KernelSpec& kernel, const Problem& problem);

/// The macros that a kernel of the reference gets: those of the sizes that are not its arguments.
Config reference_macros(const KernelSpec& kernel, const ReferenceKernelSpec& reference,
                        const Problem& problem);

}  // namespace assay
