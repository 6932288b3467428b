#pragma once

#include <string>
#include <vector>

#include "inspect/code.h"

namespace assay {

/// A number that stands in the code.
struct Constant {
  std::string text;  // "1.4427", "0x7fff"
  bool is_float = false;
  int count = 0;
  SourceLine source = {};  // where it is first
};

/// Float constants, then integers from 256 on, by how often they occur.
std::vector<Constant> find_constants(const Function& function, InstructionSet set);

}  // namespace assay
