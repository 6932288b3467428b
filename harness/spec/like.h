#pragma once

#include <filesystem>

#include "spec/yaml.h"

namespace assay {

/// The contract or the op's file at `path`, merged with the file that `like` names. Each node keeps
/// its place. Throws SpecError.
YamlPtr load_whole(const std::filesystem::path& path);

/// The file in the same folder that `like` of the file at `path` names; empty without `like`.
std::filesystem::path file_it_is_like(const std::filesystem::path& path);

}  // namespace assay
