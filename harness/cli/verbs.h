#pragma once

#include "cli/command.h"

namespace assay {

// Each adds one verb to the program. Its options have units in the operands and defaults in the
// help.
void add_new(Command program);
void add_list(Command program);
void add_sweep(Command program);
void add_judge(Command program);
void add_check(Command program);
void add_best(Command program);
void add_verify(Command program);
void add_show(Command program);
void add_inspect(Command program);
void add_explain(Command program);
void add_profile(Command program);
void add_compare(Command program);
void add_gate(Command program);
void add_history(Command program);
void add_report(Command program);
void add_export(Command program);
void add_cover(Command program);
void add_import(Command program);
void add_bench(Command program);
void add_doctor(Command program);
void add_db(Command program);
void add_schema(Command program);
void add_completion(Command program);

}  // namespace assay
