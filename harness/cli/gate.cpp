// The verbs that look at runs. `assay gate`: whether a run is fit to follow another; for CI. `assay
// compare A B`: what became of each result from one run to another. `assay history`: how the best
// of each problem went over many runs, and where it changed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "cli/include_path.h"
#include "cli/remeasure.h"
#include "cli/results.h"
#include "cli/verbs.h"
#include "cuda/gpu_count.h"
#include "report/entry_json.h"
#include "report/history.h"
#include "report/run_comparison.h"

namespace assay {
namespace {

// "undecided" has the number of the machine's failures, since neither tells of the change.
constexpr int kExitUndecided = kExitMachine;

struct GateOptions : KernelFolders {
  std::string run;
  std::string baseline;
  ResultOptions filter;
  std::string margin = "2%";
  std::vector<std::string> allowed;
  std::string markdown;
  std::string junit;
  bool rerun = false;
  bool json = false;
};

/// Measures what would hold the gate up once more. Returns whether anything was. Without a GPU it
/// says so, and what is stored decides.
bool measure_again(const GateOptions& options, const RunComparison& comparison,
                   const Allowed& allowed, Run& after) {
  std::vector<const ComparedResult*> suspicious;
  for (const ComparedResult& result : comparison.results) {
    if (gate_of(result, allowed) == Gate::passed) continue;
    if (result.fate == Fate::slower || result.fate == Fate::unsure) suspicious.push_back(&result);
  }
  if (suspicious.empty()) return false;
  std::string why_not;
  if (count_gpus(why_not) == 0) {
    print_err("--rerun: {}; what is stored decides\n", why_not);
    return false;
  }
  Remeasurer remeasurer(kernel_folder(options.kernels), options.include);
  int num_measured = 0;
  for (const ComparedResult* suspect : suspicious) {
    for (RunResult& result : after.results) {
      if (question_text(result) != question_text(*suspect)) continue;
      const std::string name = fmt::format("{} {}", result.op, to_text(result.problem));
      const std::string obstacle = remeasurer.obstacle(result);
      if (!obstacle.empty()) {
        print_err("--rerun: {} is not measured again: {}\n", name, obstacle);
        continue;
      }
      print_err("{} {}: measured again\n", name, to_text(suspect->fate));
      result = remeasurer.measure(result);
      ++num_measured;
    }
  }
  // Whoever reads the summary sees that not all of it is stored.
  if (num_measured > 0) after.name += fmt::format(" ({} results measured again)", num_measured);
  return num_measured > 0;
}

void write_report(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  create_folder_of(path);
  write_file_atomic(path, text);
}

int run_gate(const GateOptions& options) {
  const double margin_ratio = parse_margin(options.margin);
  Allowed allowed;
  for (const std::string& word : options.allowed) {
    allowed.insert(word == "unsure" ? Fate::unsure
                   : word == "gone" ? Fate::gone
                                    : Fate::not_comparable);
  }
  const Run before = load_run(options.baseline, options.filter);
  Run after = load_run(options.run, options.filter);
  RunComparison comparison = compare_runs(before, after, margin_ratio);
  if (options.rerun && measure_again(options, comparison, allowed, after)) {
    comparison = compare_runs(before, after, margin_ratio);
  }
  write_report(options.markdown, gate_markdown(comparison, allowed));
  write_report(options.junit, gate_junit(comparison, allowed));
  const Gate gate = gate_of(comparison, allowed);
  if (options.json) {
    print_out("{}", gate_json(comparison, allowed));
  } else {
    const Terminal terminal = stdout_terminal();
    const Style style = !terminal.has_color       ? Style::plain
                        : gate == Gate::passed    ? Style::good
                        : gate == Gate::undecided ? Style::warning
                                                  : Style::failure;
    print_out("{}{}\n", comparison_text(comparison, Shown::notable, terminal),
              styled(fmt::format("gate: {}", to_text(gate)), style));
  }
  if (gate == Gate::undecided) return kExitUndecided;
  return gate == Gate::failed ? kExitNo : kExitDone;
}

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
  write_out(options.json ? document("compare", comparison_json(comparison))
                         : comparison_text(comparison, Shown::all, stdout_terminal()));
  const int worse = comparison.count(Fate::slower) + comparison.count(Fate::failed);
  return worse > 0 ? kExitNo : kExitDone;
}

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
    throw UsageError("no verdict in {}; a history is of re-ranked results",
                     fmt::join(options.paths, ", "));
  }
  write_out(options.json ? document("history", {{"history", history_json(histories)}})
                         : history_text(histories, stdout_terminal()));
  return kExitDone;
}

}  // namespace

void add_gate(Command program) {
  auto [verb, options] = program.add_verb<GateOptions>(
      "gate", "fail where a run is slower than another; for CI and git bisect", run_gate);
  verb.add_option("RUN PATH[#SWEEP]", options->run, kRunHelp).required();
  verb.add_option("--baseline PATH[#SWEEP]", options->baseline, "the run to compare with, likewise")
      .required();
  add_run_filter(verb, options->filter);
  add_margin(verb, options->margin);
  verb.add_option("--allow unsure|gone|not-comparable", options->allowed,
                  "pass although results are unsure, gone or not comparable; may be repeated")
      .one_of({"unsure", "gone", "not-comparable"});
  verb.add_option("--markdown FILE", options->markdown,
                  "write a summary, such as for GitHub's page");
  verb.add_option("--junit FILE", options->junit, "write JUnit XML, a test case for each result");
  verb.add_flag("--rerun", options->rerun,
                "measure what is slower or unsure once more, if there is a GPU, before it fails");
  add_kernel_folders(verb, *options, kKernelsHere, "with --rerun: ");
  verb.add_flag("--json", options->json, "print JSON instead of tables");
  verb.footer(
      "exit codes: 0 passed; 1 something is slower, or nothing correct is left of it; 2 a "
      "mistake,\n"
      "or nothing can be compared; 3 undecided (unsure, gone, not comparable), or the machine\n"
      "example: assay gate results/assay.db --baseline main.jsonl --markdown summary.md");
}

void add_compare(Command program) {
  auto [verb, options] = program.add_verb<CompareOptions>(
      "compare", "what became faster or slower from one run to another, result by result",
      run_compare);
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
}

void add_history(Command program) {
  auto [verb, options] = program.add_verb<HistoryOptions>(
      "history", "how each result went over many runs: where it changed, and what else did",
      run_history);
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
}

}  // namespace assay
