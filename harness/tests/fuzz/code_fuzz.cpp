// PTX, and what a disassembler prints.

#include "base/error.h"
#include "fuzz_target.h"
#include "inspect/code.h"
#include "inspect/difference.h"
#include "inspect/findings.h"
#include "inspect/registers.h"

namespace assay {
namespace {

void look_at(const Code& code) {
  for (const Function& function : code.functions) {
    count_classes(function, 10);
    find_motifs(function, code.set);
    find_constants(function, code.set);
    if (const Loop* loop = main_loop(function)) live_registers(function, *loop, code.set);
    difference_of(function, code.functions.front(), code.set);
  }
}

}  // namespace

void fuzz_code(std::string_view text) {
  try {
    look_at(read_ptx(text, "x.ptx"));
  } catch (const UsageError&) {
  }
  try {
    look_at(read_sass(text, "x.sass", text));
  } catch (const UsageError&) {
  }
}

}  // namespace assay
