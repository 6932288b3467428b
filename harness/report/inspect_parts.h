#pragma once

#include <cstddef>
#include <string>

#include "report/inspect_view.h"

// What the view of one code and that of two have in common.

namespace assay {

/// The text shows so many constants, loops and blocks; JSON has all.
inline constexpr std::size_t kMostRows = 12;

const Block& block_of(const Function& function, int index);
ClassCounts counts_of(const Block& block);
/// The first that is known; line 0 if none is.
SourceLine first_line(const Block& block);

/// "sgemm.cu:45"; empty when it is not known.
std::string source_text(const Code& code, const SourceLine& source);
/// "32 fma, 6 shared, 4 integer": the largest first, and `most` of them.
std::string mix_text(const ClassCounts& counts, std::size_t most);
/// "32", or "-" for 0.
std::string count_cell(double count);
/// "12 registers and 4 uniform ones"; empty where it is not known.
std::string live_text(const Function& function, InstructionSet set);
/// "$L__BB0_2"; without a label "block 7".
std::string label_of(const Block& block, int index);
/// What it is, what ptxas says of it, and how its launches fill an SM.
std::string head_text(const Inspected& inspected, const Terminal& terminal);

}  // namespace assay
