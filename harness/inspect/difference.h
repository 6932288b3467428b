#pragma once

#include <vector>

#include "inspect/findings.h"

namespace assay {

/// Two blocks that do the same, or nearly; or one that the other function lacks.
struct BlockPair {
  int before = -1;    // -1: only after
  int after = -1;     // -1: only before
  bool same = false;  // but for the names of registers and labels
};

/// What tells two functions apart.
struct Difference {
  std::vector<BlockPair> blocks;  // in the order of the code
  /// Constants whose number of occurrences differs; `count` is after less before.
  std::vector<Constant> constants;

  bool none() const;
};

/// Aligns the blocks of two functions by what they do: first those that are the same but for the
/// names of registers and labels, then, between these, those that use the same instructions most.
Difference difference_of(const Function& before, const Function& after, InstructionSet set);

/// How many times over `after` does what `before` does, where its counts are that multiple: a loop
/// that was unrolled. 0: it does something else.
double times_unrolled(const ClassCounts& before, const ClassCounts& after);

}  // namespace assay
