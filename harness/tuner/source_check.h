#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "spec/kernel_spec.h"

namespace assay {

/// What a contract and its source say differently, as far as can be seen without a compiler: a
/// parameter that nothing reads, arguments of other types than the entry point's parameters or in
/// another order than their names, and a launch that does not say that its blocks wait for each
/// other. Each is a sentence with its place. Nothing where the source cannot be read: whoever
/// compiles it says so.
std::vector<std::string> source_warnings(
    const KernelSpec& kernel, const std::vector<std::filesystem::path>& include_directories);

}  // namespace assay
