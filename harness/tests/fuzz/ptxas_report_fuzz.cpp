// The log of a compiler.

#include "compile/compiler_log.h"
#include "fuzz_target.h"

namespace assay {

void fuzz_ptxas_report(std::string_view text) {
  CompileReport report;
  take_ptxas_report(text, report);
}

}  // namespace assay
