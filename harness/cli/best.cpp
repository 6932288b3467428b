// `assay best`: the winner of each problem.

#include "base/error.h"
#include "base/terminal.h"
#include "cli/known_code.h"
#include "cli/results.h"
#include "cli/verbs.h"
#include "report/entry_json.h"
#include "report/tuned_table.h"

namespace assay {
namespace {

struct BestOptions {
  ResultOptions results;
  BestLayout layout;
  bool json = false;
};

int run_best(BestOptions options) {
  const Store store = open_results(options.results);
  const Filter filter = options.results.filter(Status::correct);
  std::vector<TunedTable> tables =
      tuned_tables(store.results(filter, TunedTrials()), Screened::show);
  if (options.json || options.layout.wide) add_memory(tables, store);
  if (options.json) write_out(document("best", {{"best", best_json(tables)}}));
  if (tables.empty()) {
    return say_none("timed result", store, options.results, {},
                    "; assay show counts what is there");
  }
  options.layout.terminal = stdout_terminal();
  if (!options.json) write_out(best_text(tables, options.layout));
  return kExitDone;
}

}  // namespace

void add_best(Command program) {
  auto [verb, options] = program.add_verb<BestOptions>(
      "best", "the best configuration of each problem, its ties and its margin over the baseline",
      run_best);
  add_result_options(verb, options->results);
  verb.add_flag("--ties", options->layout.ties, "list the ties under each table");
  verb.add_flag("--wide", options->layout.wide,
                "whole parameter names, and the memory that is needed");
  verb.add_flag("--json", options->json, "print JSON instead of tables");
  verb.footer("example: assay best --op gemm_bf16 --problem M=16");
}

}  // namespace assay
