#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "compile/compiler.h"

namespace assay {

/// What every configuration is compiled with, unless its settings say otherwise.
std::vector<std::string> common_options(int std = 20);

/// NVRTC's options for one configuration on one architecture. Throws UsageError for an
/// architecture, a name or a word that is not one, so that no value can smuggle in an option.
std::vector<std::string> compile_options(const Config& config, const std::string& arch,
                                         const CompileSettings& settings = {});

}  // namespace assay
