#pragma once

#include <map>
#include <string>
#include <vector>

#include "inspect/code.h"

namespace assay {

/// Something in the code that an author would want to know of.
struct CodeFinding {
  std::string name;                      // "wgmma in flight"
  std::string text;                      // "up to 2 groups: wait_group 1"
  SourceLine source = {};                // where it is first, if it is in one place
  std::map<SourceLine, int> lines = {};  // how many of it are in each line, where that is counted
};

/// What the code of `function` shows: how products are fed, how deep copies are under way, loads
/// that wait for loads, addresses whose stride wastes bandwidth, conversions back and forth,
/// atomics, accesses under a predicate, and spills. Each is a fact of the code; what it costs is
/// not known.
std::vector<CodeFinding> find_motifs(const Function& function, InstructionSet set);

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
