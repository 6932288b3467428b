#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace assay {

/// Runs a verb whose arguments have been read. Returns the exit code.
using Verb = std::function<int()>;

// Each adds one subcommand to `app`. Its options have units in the placeholders and defaults in the
// help.
//
// When the command line names the subcommand, its callback only sets `run`, and main calls `run`
// afterwards. So what a verb throws (UsageError, Error, Interrupted) never passes through the
// parser.
void add_new(CLI::App& app, Verb& run);
void add_list(CLI::App& app, Verb& run);
void add_sweep(CLI::App& app, Verb& run);
void add_best(CLI::App& app, Verb& run);
void add_verify(CLI::App& app, Verb& run);
void add_show(CLI::App& app, Verb& run);
void add_compare(CLI::App& app, Verb& run);
void add_gate(CLI::App& app, Verb& run);
void add_history(CLI::App& app, Verb& run);
void add_export(CLI::App& app, Verb& run);
void add_import(CLI::App& app, Verb& run);
void add_doctor(CLI::App& app, Verb& run);
void add_db(CLI::App& app, Verb& run);
void add_completion(CLI::App& app, Verb& run);

}  // namespace assay
