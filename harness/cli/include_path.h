#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

/// Where headers are looked for: in the folder of kernels, in those given, and last in what this
/// program ships, as <assay/ptx/tma.cuh>.
std::vector<std::filesystem::path> include_path(const std::filesystem::path& kernels,
                                                const std::vector<std::string>& given);

}  // namespace assay
