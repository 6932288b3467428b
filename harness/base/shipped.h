#pragma once

#include <filesystem>

namespace assay {

/// Where the kernels are that the program ships: PREFIX/share/assay where it is installed, the tree
/// where it was built, or an empty path.
std::filesystem::path shipped_folder();

}  // namespace assay
