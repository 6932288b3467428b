#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/terminal.h"
#include "base/trial.h"
#include "inspect/code.h"
#include "report/launch_figures.h"

namespace assay {

/// A code and what is known of it beside.
struct Inspected {
  std::string title;  // what the user named
  Code code;
  /// What ptxas says of its registers and spills; nothing for a file.
  std::optional<CompileReport> report = {};
  /// Of a configuration, whose launches are known.
  std::vector<LaunchFigures> launches = {};
  /// The entries that a configuration launches; none for a file, which has no configuration.
  CompiledEntries entries = {};
};

/// The instructions of what is launched, by class.
struct CodeCounts {
  std::string none = {};  // why they are not known; empty: they are
  InstructionSet set = InstructionSet::ptx;
  ClassCounts once = {};
  ClassCounts weighted = {};  // each counts ten times for each loop that it is in
};

/// Adds those of a code. What is launched calls the functions that are no kernels.
void add_counts(CodeCounts& counts, const Inspected& inspected);

/// For each function: its instructions by class, its loops, what the code shows, its constants.
std::string inspect_text(const Inspected& inspected, const Terminal& terminal = {});
nlohmann::ordered_json inspect_json(const Inspected& inspected);

/// The code itself, block by block, each instruction with its source line.
std::string listing_text(const Inspected& inspected);

/// Functions of the same name beside each other; a lone function of each, too, whatever its name.
std::string difference_text(const Inspected& before, const Inspected& after,
                            const Terminal& terminal = {});
nlohmann::ordered_json difference_json(const Inspected& before, const Inspected& after);

}  // namespace assay
