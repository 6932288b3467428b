#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cubin_info.h"
#include "base/terminal.h"
#include "base/trial.h"
#include "inspect/occupancy.h"
#include "space/plan.h"

namespace assay {

struct LaunchFigures {
  std::string entry;
  std::int64_t blocks = 0;
  std::int64_t threads = 0;                 // of a block
  std::optional<Occupancy> occupancy = {};  // nothing: the entry's registers are not known
  std::int64_t smem_bytes = 0;              // of a block
  int registers = 0;                        // of a thread
  bool is_early = false;                    // may start before the launch ahead ends
};

/// The entries of compiled code: what each takes, by its name in machine code, and that name.
struct CompiledEntries {
  std::map<std::string, KernelLimits> limits;
  std::map<std::string, std::string> symbols = {};

  /// Of an entry as a contract names it; null where it is not known.
  const KernelLimits* find(const std::string& entry) const;
};

/// How each launch of a plan fills an SM of compute capability `cc`. `report` has the most
/// registers and shared memory of any entry: without machine code it stands for the entry that a
/// plan has alone.
std::vector<LaunchFigures> launch_figures(const Plan& plan, int cc, const CompiledEntries& entries,
                                          const std::optional<CompileReport>& report);

/// The first launch of each entry, in their order.
std::vector<LaunchFigures> first_launches(const std::vector<LaunchFigures>& launches);

nlohmann::ordered_json launches_json(const std::vector<LaunchFigures>& launches);

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
