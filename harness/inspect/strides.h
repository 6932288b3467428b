#pragma once

#include <vector>

#include "inspect/code.h"
#include "inspect/findings.h"
#include "inspect/registers.h"

namespace assay {

/// Adds what loads and stores of these blocks, of a PTX function, waste by how far apart the
/// threads of a row are: banks of shared memory that several ask for, bytes of global memory that
/// nobody takes, and bytes that are taken by more instructions than need be.
void find_strides(const std::vector<const Block*>& blocks, Registers& registers,
                  std::vector<CodeFinding>& findings);

}  // namespace assay
