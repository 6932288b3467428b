#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/device_info.h"
#include "compile/compiler.h"
#include "spec/kernel_spec.h"

namespace assay {

/// What a configuration is compiled from, for `arch` and a device such as `info`. Only macros of
/// the contract may differ from problem to problem.
CompileJob compile_job(const KernelSpec& kernel, const Problem& problem, const Config& config,
                       const DeviceInfo& info, const std::string& arch,
                       const std::vector<std::filesystem::path>& include_directories);

/// What a kernel of a reference or a baseline, or one that fills an input, is compiled from, for
/// the sizes of a problem, which are macros. The ones that it takes as arguments are none.
CompileJob own_compile_job(const KernelSpec& kernel, const ReferenceKernelSpec& own,
                           const Problem& problem, const DeviceInfo& info, const std::string& arch,
                           const std::vector<std::filesystem::path>& include_directories,
                           bool fast_math = false);

}  // namespace assay
