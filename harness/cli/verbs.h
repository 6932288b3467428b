#pragma once

#include "cli/command.h"

namespace assay {

/// Adds one verb to the program. Its options have units in the operands and defaults in the help.
using AddVerb = void(Command program);

AddVerb add_new, add_list, add_sweep, add_judge, add_check, add_best, add_verify, add_show,
    add_inspect, add_explain, add_profile, add_compare, add_gate, add_history, add_report,
    add_export, add_cover, add_import, add_bench, add_doctor, add_db, add_schema, add_completion;

}  // namespace assay
