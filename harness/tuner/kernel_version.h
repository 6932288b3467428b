#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/trial_record.h"
#include "spec/kernel_spec.h"

namespace assay {

/// Where the kernel's headers are looked for: first in its own folders, then in those of all.
/// Throws SpecError at one of its own that lies neither in the contract's folder nor in one of all.
std::vector<std::filesystem::path> include_path(
    const KernelSpec& kernel, const std::vector<std::filesystem::path>& include_directories);

/// The same of the kernels of its reference, its fills and its baselines. Those of an op's file do
/// not look into the kernel's folders, where a header could change what is right.
std::vector<std::filesystem::path> own_include_path(
    const KernelSpec& kernel, const std::vector<std::filesystem::path>& include_directories);

/// What a result of the kernel as it is now belongs to: its source, and with it the sources of its
/// reference's own kernels, with every header; and its contract. Throws UsageError when one cannot
/// be read.
KernelVersion version_of(const KernelSpec& kernel,
                         const std::vector<std::filesystem::path>& include_directories);

/// What a verdict knows a baseline of the kernel by: its name and, if it has steps, a hash of these
/// and of the sources of its kernels. Throws like version_of.
std::string identity_of(const KernelSpec& kernel, const BaselineSpec& baseline,
                        const std::vector<std::filesystem::path>& include_directories);

}  // namespace assay
