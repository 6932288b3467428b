#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/device_info.h"
#include "compile/compiler.h"
#include "spec/kernel_spec.h"

namespace assay {

/// What a configuration is compiled from, for `arch` and a device such as `info`.
CompileJob compile_job(const KernelSpec& kernel, const Config& config, const DeviceInfo& info,
                       const std::string& arch,
                       const std::vector<std::filesystem::path>& include_directories);

}  // namespace assay
