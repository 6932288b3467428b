// `assay explain`: what the time of a trial is made of, and why one of two is faster.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/terminal.h"
#include "cli/ceilings_cache.h"
#include "cli/include_path.h"
#include "cli/known_code.h"
#include "cli/results.h"
#include "cli/verbs.h"
#include "compile_job.h"
#include "judge/ceilings.h"
#include "kernel_version.h"
#include "report/entry_json.h"
#include "report/explain_view.h"
#include "space/plan.h"

namespace assay {
namespace {

struct Options {
  std::string target;
  std::string other;
  std::string db;
  std::string kernels = "kernels";
  std::vector<std::string> include;
  std::string arch = "90a";
  bool json = false;
};

/// Of the real numbers that are computed with: those of the smallest type set the ceiling, as in
/// judge/ceilings.cpp.
int computed_bits(const Plan& plan) {
  std::int64_t least = 0;
  for (const BufferPlan* buffer : plan.buffers()) {
    const std::int64_t bytes = size_bytes(buffer->dtype);
    if (is_floating(buffer->dtype) && (least == 0 || bytes < least)) least = bytes;
  }
  return least == 0 ? 32 : static_cast<int>(8 * least);
}

/// What the contract says: the work, and how it is launched.
void add_plan(Figures& figures, const Plan& plan) {
  figures.bytes = static_cast<double>(plan.bytes);
  figures.flops = static_cast<double>(plan.flops);
  figures.on_tensor_cores = computed_bits(plan) == 16;
  for (const LaunchPlan& launch : plan.launches) {
    LaunchFigures of{launch.entry, launch.grid[0] * launch.grid[1] * launch.grid[2],
                     launch.block[0] * launch.block[1] * launch.block[2]};
    if (figures.report) {
      of.occupancy = occupancy_of(figures.cc, of.threads, figures.report->registers,
                                  launch.smem_bytes + figures.report->static_smem_bytes);
    }
    figures.launches.push_back(std::move(of));
  }
}

std::vector<CodeFinding> findings_of(const Code& code) {
  std::vector<CodeFinding> findings;
  for (const Function& function : code.functions) {
    for (CodeFinding& finding : find_motifs(function, code.set)) {
      if (code.functions.size() > 1) finding.text = function.name + ": " + finding.text;
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

/// What the compiler makes of it; without one, the reason.
void add_code(Figures& figures, const CompileJob& job) {
  try {
    const Inspected inspected = read_compiled(job, figures.title, false);
    figures.findings = findings_of(inspected.code);
    if (!figures.report) figures.report = inspected.report;
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    figures.no_code = error.what();
  }
}

void add_config(Figures& figures, const Config& config) {
  for (const auto& [name, value] : config) figures.parameters.emplace_back(name, to_text(value));
}

Figures figures_of_config(const Options& options, const NamedConfig& named) {
  const KernelSpec kernel = known_kernel(options.kernels, named.kernel);
  const Config config = complete(kernel, named.config);
  const DeviceInfo info = nominal_device(options.arch);
  Figures figures;
  figures.title =
      fmt::format("{} {}, the sizes of its smoke test", named.kernel, to_text(kernel.smoke));
  figures.where = "on a " + info.name;
  add_config(figures, config);
  figures.cc = info.cc;
  figures.sm_count = info.sm_count;
  add_code(figures, compile_job(kernel, config, info, options.arch,
                                include_path(options.kernels, options.include)));
  add_plan(figures, make_plan(kernel, kernel.smoke, config, info));
  return figures;
}

/// Which ceiling is nearest. Those of a GPU are known where `doctor` or a sweep measured them; else
/// a trial has the least time that they allowed.
void add_ceilings(Figures& figures, const TrialRow& row, const Plan& plan) {
  const auto protocol =
      std::find_if(protocols().begin(), protocols().end(),
                   [&](const ProtocolRow& each) { return each.name == row.record.protocol.name; });
  const Preparation preparation = protocol == protocols().end() ? Preparation::cold : protocol->id;
  figures.from_l2 = preparation == Preparation::hot;
  const auto ceilings = load_ceilings(row.device);
  if (!ceilings) {
    place_roofline(figures, figures.roofline_ns, computed_bits(plan));
    return;
  }
  const LeastTimes least = least_times(plan, *ceilings, preparation);
  figures.memory_ns = least.memory_ns;
  figures.operations_ns = least.operations_ns;
  figures.launches_ns = least.launches_ns;
  figures.l2_bytes_per_s = ceilings->l2_bytes_per_s;
}

/// Its rounds in the verdict on its question, if it was re-ranked there.
void add_rounds(Figures& figures, const Options& options, const TrialRow& row) {
  ResultOptions results;
  if (!options.db.empty()) results.db = options.db;
  results.op = row.record.kernel.op;
  results.problem = to_text(row.record.problem);
  results.device = row.device.name;
  for (const RankRow& rank : open_results(results).results(results.filter()).ranks) {
    if (rank.record.protocol != row.record.protocol || rank.record.problem != row.record.problem) {
      continue;
    }
    for (const RankEntry& entry : rank.record.entries) {
      if (entry.kernel != row.record.kernel.name || entry.config != to_text(row.record.config)) {
        continue;
      }
      figures.verdict = rank.record.finished_at;
      figures.rounds_ns = entry.samples_ns;
    }
  }
}

Figures figures_of_trial(const Options& options, std::int64_t id) {
  const TrialRow row = known_trial(options.db, id);
  const TrialRecord& trial = row.record;
  if (!trial.outcome.timing) {
    throw UsageError(
        fmt::format("trial {} has no time to explain: its status is {}; see assay "
                    "show {}",
                    id, to_text(trial.outcome.status), id));
  }
  const Timing& timing = *trial.outcome.timing;
  Figures figures;
  figures.title = fmt::format("trial {}: {} {}", id, trial.kernel.name, to_text(trial.problem));
  figures.question = fmt::format("{} {} {} on {}", trial.kernel.op, to_text(trial.problem),
                                 trial.protocol.name, row.device.name);
  figures.where = row.provenance.empty() ? "on " + row.device.name : row.provenance;
  add_config(figures, trial.config);
  if (!options.other.empty()) add_rounds(figures, options, row);
  figures.time_ns = {timing.median_ns, timing.ci_low_ns, timing.ci_high_ns};
  figures.protocol = trial.protocol.name;
  if (timing.censored()) figures.protocol += ", not timed to the end";
  figures.clock_mhz = timing.clock_mhz;
  if (timing.state) figures.throttled = throttle_text(timing.state->throttle_reasons);
  figures.roofline_ns = timing.roofline_ns;
  figures.cc = row.device.cc;
  figures.sm_count = row.device.sm_count;
  if (trial.compile.registers > 0) figures.report = trial.compile;  // else it is another tuner's
  figures.counters = trial.measurements;
  figures.profile_command = row.provenance.empty()
                                ? fmt::format("assay profile {}", id)
                                : "assay sweep on such a GPU, and assay profile there";
  try {
    const KernelSpec kernel = known_kernel(options.kernels, trial.kernel.name);
    const auto folders = include_path(options.kernels, options.include);
    if (version_of(kernel, folders) != trial.kernel) {
      figures.no_code = trial.kernel.source_hash.empty()
                            ? "it is not known of which source this trial is; sweep it again"
                            : trial.kernel.name + " has changed since; sweep it again";
      return figures;
    }
    const Plan plan = make_plan(kernel, trial.problem, trial.config, row.device);
    add_plan(figures, plan);
    add_ceilings(figures, row, plan);
    add_code(figures, compile_job(kernel, trial.config, row.device, trial.toolchain.arch, folders));
  } catch (const UsageError& error) {
    figures.no_code = error.what();
  } catch (const PlanError& error) {
    figures.no_code = error.what();
  }
  return figures;
}

Figures figures_of(const Options& options, const std::string& target) {
  if (const auto id = trial_number(target)) return figures_of_trial(options, *id);
  if (const auto named = named_config(target)) return figures_of_config(options, *named);
  throw UsageError(fmt::format(
      "expected a trial's number, or a configuration such as sgemm:TILE=8,..., found \"{}\"",
      target));
}

int run_explain(const Options& options) {
  const Figures figures = figures_of(options, options.target);
  if (options.other.empty()) {
    const Explanation explanation = explain(figures);
    write_out(options.json ? dump(explain_json(figures, explanation))
                           : explain_text(figures, explanation));
    return kExitDone;
  }
  const Figures other = figures_of(options, options.other);
  write_out(options.json ? dump(faster_json(figures, other)) : faster_text(figures, other));
  return kExitDone;
}

}  // namespace

void add_explain(Command program) {
  auto options = std::make_shared<Options>();
  Command verb = program.add_command(
      "explain", "what the time of a trial is made of, or why one of two is faster");
  verb.add_option("TRIAL|CONFIG", options->target,
                  "a trial's number, or a configuration as KERNEL:NAME=VALUE,...")
      .required();
  verb.add_option("OTHER", options->other, "what to compare it with, likewise");
  verb.add_option("--db", options->db,
                  "the database or recording of a trial; default: results/assay.db")
      .placeholder("PATH");
  verb.add_option("--arch", options->arch,
                  "compile a configuration for this one; of a trial its own; default: 90a")
      .placeholder("80|86|89|90|90a");
  add_kernel_folders(verb, options->kernels, options->include);
  verb.add_flag("--json", options->json, "print JSON instead of text");
  verb.footer(
      "example: assay explain 12\n"
      "example: assay explain 12 15, for why one of two trials is faster\n"
      "It needs no GPU. What assay profile counted of a trial is used, too.");
  verb.runs([options] { return run_explain(*options); });
}

}  // namespace assay
