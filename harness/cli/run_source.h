#pragma once

#include <string>
#include <vector>

#include "cli/results.h"
#include "report/run.h"

namespace assay {

/// What the verbs that compare runs share.
struct RunFilter {
  std::string op;
  std::string problem;
  std::string device;
};

/// Adds --op, --problem and --device.
void add_run_filter(Command verb, RunFilter& filter);

/// Adds the --margin of two runs, which `parse_margin` reads.
void add_margin(Command verb, std::string& margin);

/// What load_run reads, for the help.
inline constexpr const char* kRunHelp =
    "database, recording (.jsonl), or one sweep of it by name or number: PATH#SWEEP";

/// Reads PATH, a database or a recording, or PATH#SWEEP, one sweep of it by name or by number.
/// Throws UsageError when there is no such file or sweep, or when it has no result of what the
/// filter asks for.
Run load_run(const std::string& source, const RunFilter& filter);

/// Every run in a database, or the one that a recording is; none if it has no result of what the
/// filter asks for. Throws UsageError when there is no such file.
std::vector<Run> load_runs(const std::string& path, const RunFilter& filter);

/// The databases and recordings that the paths name, by themselves or as what is in a folder, in
/// the order of their names. Throws UsageError for a folder without any.
std::vector<std::string> run_files(const std::vector<std::string>& paths);

/// "2%", "2 %" or "0.02" as a ratio. Throws UsageError unless it is more than 0 and less than 100
/// %.
double parse_margin(const std::string& text);

}  // namespace assay
