// `assay history`: how the best of each problem went over many runs, and where it changed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "base/error.h"
#include "base/terminal.h"
#include "cli/results.h"
#include "cli/verbs.h"
#include "report/history.h"

namespace assay {
namespace {

struct HistoryOptions {
  std::vector<std::string> paths;
  ResultOptions filter;
  std::string margin = "1%";
  bool json = false;
};

int run_history(const HistoryOptions& options) {
  const double least_ratio = parse_margin(options.margin);
  HistoryBuilder builder;
  for (const std::string& path : run_files(options.paths)) {
    for (Run& run : load_runs(path, options.filter)) builder.add(std::move(run));
  }
  const std::vector<ResultHistory> histories = builder.finish(least_ratio);
  if (histories.empty()) {
    throw UsageError(fmt::format("no verdict in {}; a history is of re-ranked results",
                                 fmt::join(options.paths, ", ")));
  }
  write_out(options.json ? history_json(histories) : history_text(histories, stdout_terminal()));
  return kExitDone;
}

}  // namespace

void add_history(Command program) {
  auto options = std::make_shared<HistoryOptions>();
  Command verb = program.add_command(
      "history", "how each result went over many runs: where it changed, and what else did");
  verb.add_option("PATH PATH...", options->paths,
                  "databases, whose every sweep is a run, recordings, or folders of both")
      .required();
  add_run_filter(verb, options->filter);
  verb.add_option("--margin PERCENT", options->margin,
                  "least change that is looked for; default: 1%");
  verb.add_flag("--json", options->json, "print JSON instead of tables");
  verb.footer(
      "A change is found from the third run after it on, without a baseline from the fifth; "
      "before,\n"
      "it is pending. gradual: steps too small to be found one by one have added up.\n"
      "exit codes: 0 done, whatever changed; 2 a mistake, or no verdict there; 3 the machine\n"
      "example: assay history nightly/ --op gemm_bf16");
  verb.runs([options] { return run_history(*options); });
}

}  // namespace assay
