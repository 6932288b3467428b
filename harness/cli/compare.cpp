// `assay compare A B`: what became of each result from one run to another.
#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/terminal.h"
#include "cli/results.h"
#include "cli/verbs.h"
#include "report/run_comparison.h"

namespace assay {
namespace {

struct CompareOptions {
  std::string before;
  std::string after;
  ResultOptions filter;
  std::string margin = "2%";
  bool json = false;
};

int run_compare(const CompareOptions& options) {
  const double margin_ratio = parse_margin(options.margin);
  const Run before = load_run(options.before, options.filter);
  const Run after = load_run(options.after, options.filter);
  const RunComparison comparison = compare_runs(before, after, margin_ratio);
  write_out(options.json ? comparison_json(comparison)
                         : comparison_text(comparison, Shown::all, stdout_terminal()));
  const int worse = comparison.count(Fate::slower) + comparison.count(Fate::failed);
  return worse > 0 ? kExitNo : kExitDone;
}

}  // namespace

void add_compare(Command program) {
  auto options = std::make_shared<CompareOptions>();
  Command verb = program.add_command(
      "compare", "what became faster or slower from one run to another, result by result");
  verb.add_option("A PATH[#SWEEP]", options->before, kRunHelp).required();
  verb.add_option("B PATH[#SWEEP]", options->after, "likewise, of the later run").required();
  add_run_filter(verb, options->filter);
  add_margin(verb, options->margin);
  verb.add_flag("--json", options->json, "print JSON instead of tables");
  verb.footer(
      "verdicts: faster, slower, same, unsure; not comparable (another GPU model, protocol or\n"
      "clock policy); new, gone; failed (nothing correct any more). The change is that of the "
      "time\n"
      "relative to the baseline, where both runs have the same one.\n"
      "exit codes: 0 nothing is slower; 1 something is slower or failed; 2 a mistake, or nothing\n"
      "can be compared; 3 the machine\n"
      "example: assay compare old.jsonl results/assay.db\n"
      "example: assay compare 'results/assay.db#3' 'results/assay.db#7'");
  verb.runs([options] { return run_compare(*options); });
}

}  // namespace assay
