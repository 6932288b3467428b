#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "inspect/code.h"

namespace assay {

/// One opcode, or several in a row, by the names ahead of what qualifies them: "ld", "IMAD".
struct OpcodeCount {
  std::vector<std::string> opcodes;
  int count = 0;
};

/// The histogram of a function's opcodes, the most frequent first.
std::vector<OpcodeCount> count_opcodes(const Function& function);

/// The runs of 2 to 8 opcodes that are in the function's blocks three times or more, and that cover
/// most instructions; `most` runs, none of which is a part or a rotation of another. A run of one
/// opcode is none: the histogram has it.
std::vector<OpcodeCount> find_runs(const Function& function, std::size_t most);

}  // namespace assay
