#pragma once

#include <string>
#include <vector>

#include "base/value.h"

namespace assay {

/// What every configuration is compiled with.
std::vector<std::string> common_options();

/// NVRTC's options for one configuration on one architecture. Throws UsageError for an
/// architecture, a name or a word that is not one, so that no value can smuggle in an option.
std::vector<std::string> compile_options(const Config& config, const std::string& arch);

}  // namespace assay
