#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "base/trial.h"
#include "inspect/code.h"
#include "report/launch_figures.h"

namespace assay {

struct Inspected {
  std::string title;  // what the user named
  Code code;
  /// What ptxas says of its registers and spills; nothing for a file.
  std::optional<CompileReport> report = {};
  /// Of a configuration, whose launches are known.
  std::vector<LaunchFigures> launches = {};
  /// The entries that a configuration launches; none for a file, which has no configuration.
  CompiledEntries entries = {};
  std::string cubin = {};  // of what was compiled; empty for a file of code
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

/// The text shows so many constants, loops and blocks; JSON has all.
inline constexpr std::size_t kMostRows = 12;

/// "a, b, and 3 more": kMostRows of them.
std::string short_list(const std::vector<std::string>& items);

/// The first that is known; line 0 if none is.
SourceLine first_line(const Block& block);

/// "sgemm.cu:45"; empty when it is not known.
std::string source_text(const Code& code, const SourceLine& source);
/// "32 fma, 6 shared, 4 integer, 1 branch, ...": four of them, the largest first.
std::string mix_text(const ClassCounts& counts);
/// "32", or "-" for 0.
std::string count_cell(double count);
/// "12 registers and 4 uniform ones"; empty where it is not known.
std::string live_text(const Function& function, InstructionSet set);
/// "$L__BB0_2"; without a label "block 7".
std::string label_of(const Block& block, int index);
/// The title of the code, the figures of ptxas, and how the launches fill an SM.
std::string head_text(const Inspected& inspected, const Terminal& terminal);

}  // namespace assay
