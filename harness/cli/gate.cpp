// `assay gate`: whether a run is fit to follow another; for CI.
#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "cli/include_path.h"
#include "cli/remeasure.h"
#include "cli/results.h"
#include "cli/verbs.h"
#include "cuda/gpu_count.h"
#include "report/gate.h"
#include "report/run_comparison.h"

namespace assay {
namespace {

// "undecided" has the number of the machine's failures, since neither tells of the change.
constexpr int kExitUndecided = kExitMachine;

struct GateOptions {
  std::string run;
  std::string baseline;
  ResultOptions filter;
  std::string margin = "2%";
  std::vector<std::string> allowed;
  std::string markdown;
  std::string junit;
  bool rerun = false;
  std::string kernels;
  std::vector<std::string> include;
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

int exit_code(Gate gate) {
  if (gate == Gate::passed) return kExitDone;
  return gate == Gate::failed ? kExitNo : kExitUndecided;
}

int run_gate(const GateOptions& options) {
  const double margin_ratio = parse_margin(options.margin);
  Allowed allowed;
  for (const Fate fate : {Fate::unsure, Fate::gone, Fate::not_comparable}) {
    for (const std::string& word : options.allowed) {
      const std::string name(to_text(fate));
      if (word == name || (word == "not-comparable" && fate == Fate::not_comparable)) {
        allowed.insert(fate);
      }
    }
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
  return exit_code(gate);
}

}  // namespace

void add_gate(Command program) {
  auto options = std::make_shared<GateOptions>();
  Command verb =
      program.add_command("gate", "fail where a run is slower than another; for CI and git bisect");
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
  add_kernel_folders(verb, options->kernels, options->include, kKernelsHere, "with --rerun: ");
  verb.add_flag("--json", options->json, "print JSON instead of tables");
  verb.footer(
      "exit codes: 0 passed; 1 something is slower, or nothing correct is left of it; 2 a "
      "mistake,\n"
      "or nothing can be compared; 3 undecided (unsure, gone, not comparable), or the machine\n"
      "example: assay gate results/assay.db --baseline main.jsonl --markdown summary.md");
  verb.runs([options] { return run_gate(*options); });
}

}  // namespace assay
