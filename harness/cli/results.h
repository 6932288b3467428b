#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "report/run.h"
#include "store/store.h"

namespace assay {

/// Which results a verb looks at. These are the options that best, show and export share.
struct ResultOptions : Filter {
  std::optional<std::string> db = {};

  /// Only of trials that ended so, if a status is given. Throws UsageError when the problem is not
  /// NAME=value,...
  Filter filter(std::optional<Status> status = {}) const;
};

/// Adds --db, --op, --kernel, --problem, --device and --sweep. `db` says which files it may name.
void add_result_options(
    Command verb, ResultOptions& options,
    const char* db =
        "database, recording (.jsonl) or another tuner's results (.json, .csv)\n"
        "Default: results/assay.db. Files may be packed (.gz).");

/// Adds --op, --problem and --device, for verbs that look at runs.
void add_run_filter(Command verb, ResultOptions& options);

/// Opens what --db names, by default results/assay.db. Throws UsageError, which says what to run
/// when there is no default database yet.
Store open_results(const ResultOptions& options);
/// The same of a --db that is empty where it was not given.
Store open_results(const std::string& db);

/// "op gemm_bf16, problem M=16": what the user asked for, `further` options too, for a message that
/// there is none.
std::string asked_for(const ResultOptions& options,
                      const std::vector<std::pair<const char*, std::string>>& further = {});

/// Says that there is no `what` of what the user asked for, and then `advice`. Returns the exit
/// code.
int say_none(std::string_view what, const Store& store, const ResultOptions& options,
             const std::vector<std::pair<const char*, std::string>>& further = {},
             std::string_view advice = "");

// What the verbs that compare runs share.

/// Adds the --margin of two runs, which `parse_margin` reads.
void add_margin(Command verb, std::string& margin);

/// What load_run reads, for the help.
inline constexpr const char* kRunHelp =
    "database, recording (.jsonl), or one sweep of it by name or number: PATH#SWEEP";

/// Reads PATH, a database or a recording, or PATH#SWEEP, one sweep of it by name or by number.
/// Throws UsageError when there is no such file or sweep, or when it has no result of what is
/// asked for.
Run load_run(const std::string& source, const ResultOptions& asked);

/// Every run in a database, or the one that a recording is; none if it has no result of what is
/// asked for. Throws UsageError when there is no such file.
std::vector<Run> load_runs(const std::string& path, const ResultOptions& asked);

/// The databases and recordings that the paths name, by themselves or as what is in a folder, in
/// the order of their names. Throws UsageError for a folder without any.
std::vector<std::string> run_files(const std::vector<std::string>& paths);

/// "2%", "2 %" or "0.02" as a ratio. Throws UsageError unless it is more than 0 and less than 100
/// %.
double parse_margin(const std::string& text, const char* option = "--margin");

}  // namespace assay
