#pragma once

#include <filesystem>
#include <string>

#include "spec/yaml.h"

namespace assay {

/// The contract at `path`, with what it takes from the one that its `like` names. Each node keeps
/// its place. Throws SpecError.
YamlPtr load_whole_contract(const std::filesystem::path& path);

/// The contract that the one at `path` is like, in the same folder; empty where it has no `like`.
std::filesystem::path contract_it_is_like(const std::filesystem::path& path);

}  // namespace assay
