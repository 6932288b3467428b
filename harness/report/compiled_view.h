#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "base/trial.h"

namespace assay {

/// A configuration that was compiled and not run.
struct CompiledConfig {
  std::string kernel;
  CompileReport compile;
  std::int64_t smem_bytes = 0;  // of a block, static and dynamic
};

/// A table with a row for each kernel: between what its configurations lie, and how many spill.
std::string compiled_text(const std::vector<CompiledConfig>& configs, const Terminal& terminal);

}  // namespace assay
