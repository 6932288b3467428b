#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"

namespace assay {

/// Adds --kernels and --include. `place` is where kernels are by default, for the help. `when`,
/// such as "with --rerun: ", says when the options mean something; empty: always.
void add_kernel_folders(Command& verb, std::string& kernels, std::vector<std::string>& include,
                        const std::string& place = "kernels", const std::string& when = "");

/// Where headers are looked for: in the folder of kernels, in those given, and last in what this
/// program ships, as <assay/ptx/tma.cuh>.
std::vector<std::filesystem::path> include_path(const std::filesystem::path& kernels,
                                                const std::vector<std::string>& given);

/// Where the kernels are that the program ships: PREFIX/share/assay where it is installed, the tree
/// where it was built, or an empty path.
std::filesystem::path shipped_folder();

}  // namespace assay
