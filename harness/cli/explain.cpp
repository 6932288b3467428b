// `assay explain`: what the time of a trial is made of, and why one of two is faster.

#include "report/explain.h"
#include "base/device_info.h"
#include "base/error.h"
#include "base/terminal.h"
#include "cli/figure_source.h"
#include "cli/include_path.h"
#include "cli/results.h"
#include "cli/verbs.h"
#include "report/entry_json.h"

namespace assay {
namespace {

struct ExplainOptions : KernelFolders {
  std::string target;
  std::string other;
  std::string db;
  std::string arch = "90a";
  bool json = false;
};

/// Its rounds in the verdict on its question, if it was re-ranked there.
void add_rounds(Figures& figures, const ExplainOptions& options, const TrialRow& row) {
  const Filter asked{.op = row.record.kernel.op,
                     .problem = to_text(row.record.problem),
                     .device = row.device.name};
  for (const RankRow& rank : open_results(options.db).results(asked).ranks) {
    for (const RankEntry& entry : rank.record.entries) {
      if (entry.trial_id != row.id) continue;
      figures.verdict = rank.record.finished_at;
      figures.rounds_ns = entry.samples_ns;
    }
  }
}

Figures figures_of_trial(FigureSource& source, const ExplainOptions& options, std::int64_t id) {
  const TrialRow row = known_trial(options.db, id);
  const Outcome& outcome = row.record.outcome;
  if (!outcome.timing && outcome.status != Status::compiled) {
    throw UsageError("trial {} has no time to explain: its status is {}; see assay show {}", id,
                     to_text(outcome.status), id);
  }
  Figures figures = source.of_trial(row, FigureSource::Code::read);
  if (!options.other.empty()) add_rounds(figures, options, row);
  return figures;
}

Figures figures_of(FigureSource& source, const ExplainOptions& options, const std::string& target) {
  if (const auto id = trial_number(target)) return figures_of_trial(source, options, *id);
  if (const auto named = named_config(target)) return source.of_config(*named, options.arch);
  refuse_target(target);
}

int run_explain(const ExplainOptions& options) {
  FigureSource source(options.kernels, options.include);
  const Figures figures = figures_of(source, options, options.target);
  if (options.other.empty()) {
    const Explanation explanation = explain(figures);
    write_out(options.json ? document("explain", explain_json(figures, explanation))
                           : explain_text(figures, explanation, stdout_terminal()));
    return kExitDone;
  }
  const Figures other = figures_of(source, options, options.other);
  write_out(options.json ? document("explain-two", faster_json(figures, other))
                         : faster_text(figures, other, stdout_terminal()));
  return kExitDone;
}

}  // namespace

void add_explain(Command program) {
  auto [verb, options] = program.add_verb<ExplainOptions>(
      "explain", "what the time of a trial is made of, or why one of two is faster", run_explain);
  verb.add_option("TRIAL|CONFIG", options->target,
                  "a trial's number, or a configuration as KERNEL:NAME=VALUE,...")
      .required();
  verb.add_option("OTHER", options->other, "what to compare it with, likewise");
  verb.add_option("--db PATH", options->db,
                  "the database or recording of a trial; default: results/assay.db");
  verb.add_option("--arch " + known_archs("|"), options->arch,
                  "compile a configuration for this one; of a trial its own; default: 90a");
  add_kernel_folders(verb, *options, kFolderOfSweep);
  verb.add_flag("--json", options->json, "print JSON instead of text");
  verb.footer(
      "example: assay explain 12\n"
      "example: assay explain 12 15, for why one of two trials is faster\n"
      "It needs no GPU. What assay profile counted of a trial is used, too.");
}

}  // namespace assay
