#pragma once

#include <string>
#include <vector>

#include "compile/compiler.h"

namespace assay {

/// What every configuration is compiled with, unless its settings say otherwise.
std::vector<std::string> common_options(int std = 20);

/// NVRTC's options for one architecture, but for what defines macros: see compile/definitions.h.
/// Throws UsageError for an architecture that is none.
std::vector<std::string> compile_options(const std::string& arch,
                                         const CompileSettings& settings = {});

}  // namespace assay
