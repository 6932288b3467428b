#pragma once

#include <filesystem>
#include <string>

#include "spec/yaml.h"

namespace assay {

/// The contract or the op's file at `path`, with what it takes from the one that its `like` names.
/// Each node keeps its place. Throws SpecError.
YamlPtr load_whole(const std::filesystem::path& path);

/// The file that the one at `path` is like, in the same folder; empty where it has no `like`.
std::filesystem::path file_it_is_like(const std::filesystem::path& path);

}  // namespace assay
