#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/terminal.h"
#include "base/trial.h"

namespace assay {

/// A configuration that was compiled and not run.
struct CompiledConfig {
  std::string kernel;
  CompileReport compile;
  std::optional<double> smem_bytes = {};     // of a block, static and dynamic: the most of a launch
  std::optional<double> blocks_per_sm = {};  // the fewest of a launch
};

/// The measurements of a trial that was compiled only.
inline constexpr std::string_view kBlockSmem = "block_smem", kBlocksPerSm = "blocks_per_sm";

/// A table with a row for each kernel: between what its configurations lie, and how many spill.
std::string compiled_text(const std::vector<CompiledConfig>& configs, const Terminal& terminal);

}  // namespace assay
