#include "cli/figure_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/find_named.h"
#include "cli/gpu_setup.h"
#include "cli/include_path.h"
#include "judge/ceilings.h"
#include "space/launched.h"
#include "space/plan.h"
#include "tuner/kernel_version.h"

namespace assay {
namespace {

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
void add_plan(Figures& figures, const Plan& plan, const CompiledEntries& entries) {
  figures.bytes = static_cast<double>(plan.bytes);
  figures.flops = static_cast<double>(plan.flops);
  figures.on_tensor_cores = computed_bits(plan) == 16;
  figures.launches = launch_figures(plan, figures.cc, entries, figures.report);
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

/// Which ceiling is nearest. Those of a GPU are known where `doctor` or a sweep measured them; else
/// a trial has the least time that they allowed.
void add_ceilings(Figures& figures, const TrialRow& row, const Plan& plan) {
  const auto* const protocol = find_named(kProtocols, row.record.protocol.name);
  const Preparation preparation = protocol != nullptr ? protocol->id : Preparation::cold;
  figures.from_l2 = preparation == Preparation::hot;
  const auto ceilings = load_ceilings(row.device);
  if (!ceilings) {
    place_roofline(figures, figures.roofline_ns, computed_bits(plan));
    return;
  }
  const LeastTimes least = least_times(plan, *ceilings, preparation, figures.time_ns.value);
  figures.memory_ns = least.memory_ns;
  figures.operations_ns = least.operations_ns;
  figures.launches_ns = least.launches_ns;
  figures.l2_bytes_per_s = ceilings->l2_bytes_per_s;
}

}  // namespace

FigureSource::FigureSource(std::string kernels, std::vector<std::string> include)
    : kernels_(std::move(kernels), std::move(include)) {}

std::future<CompileResult> FigureSource::begin(CompileJob job) {
  if (!compiler_) compiler_.emplace(CompilerOptions{cache_directory()});
  return begin_reading(*compiler_, std::move(job));
}

/// What the compiler makes of it; without one, the reason. Returns the entries.
CompiledEntries FigureSource::add_code(Figures& figures, const CompileJob& job) {
  try {
    Inspected inspected = read_compiled(begin(job), figures.title, false);
    figures.findings = findings_of(inspected.code);
    if (!figures.report) figures.report = inspected.report;
    return std::move(inspected.entries);
  } catch (const FormattedError& error) {
    figures.no_code = error.what();
  }
  return {};
}

/// Begins to compile a code. Throws UsageError that says why there is none.
std::vector<std::future<CompileResult>> FigureSource::begin_code(const TrialRow& row,
                                                                 const std::string& baseline) {
  const TrialRecord& trial = row.record;
  const auto& [kernel, version, include] = kernels_.find(trial.kernel.name, row.command_line);
  if (version != trial.kernel) throw UsageError(trial.kernel.name + " has changed since");
  std::vector<std::future<CompileResult>> begun;
  if (baseline.empty()) {
    begun.push_back(begin(compile_job(kernel, trial.problem, trial.config, row.device,
                                      trial.toolchain.arch, include)));
    return begun;
  }
  const auto spec = std::ranges::find(kernel.baseline, baseline, &BaselineSpec::name);
  const bool is_ours = spec != kernel.baseline.end() && !spec->steps.empty() &&
                       std::ranges::all_of(spec->steps, [](const ReferenceSpec& step) {
                         return step.kernel.has_value();
                       });
  if (!is_ours) throw UsageError("it is a library's, which does not show it");
  for (const ReferenceSpec& step : spec->steps) {
    begun.push_back(
        begin(own_compile_job(kernel, *step.kernel, trial.problem, row.device, trial.toolchain.arch,
                              include, is_fast_math_always(kernel))));
  }
  return begun;
}

bool FigureSource::is_per_problem(const TrialRow& row) {
  try {
    return is_compiled_per_problem(kernels_.find(row.record.kernel.name, row.command_line).spec);
  } catch (const UsageError&) {
    return false;  // begin_code() says why there is no code
  }
}

FigureSource::CodeKey FigureSource::key_of(const TrialRow& row, const std::string& baseline) {
  const TrialRecord& trial = row.record;
  std::string what = baseline.empty() ? to_text(trial.config) : baseline;
  if (!baseline.empty() || is_per_problem(row)) what += " " + to_text(trial.problem);
  return {trial.kernel.name + trial.kernel.source_hash + trial.kernel.contract_hash,
          trial.toolchain.arch, what};
}

CodeCounts FigureSource::code_of(const TrialRow& row, const std::string& baseline) {
  // One configuration wins many problems, and a folder has the recordings of many nights.
  const CodeKey key = key_of(row, baseline);
  const auto [found, is_new] = counts_.try_emplace(key);
  CodeCounts& counts = found->second;
  if (!is_new) return counts;
  try {
    auto ahead = begun_.extract(key);
    auto begun = ahead.empty() ? begin_code(row, baseline) : std::move(ahead.mapped());
    for (std::future<CompileResult>& each : begun) {
      add_counts(counts,
                 read_compiled(std::move(each), row.record.kernel.name, has_disassembler()));
    }
  } catch (const FormattedError& error) {
    const std::string_view why = error.what();
    counts.none = why.substr(0, why.find('\n'));
  }
  return counts;
}

void FigureSource::compile_ahead(const TrialRow& row, const std::string& baseline) {
  const CodeKey key = key_of(row, baseline);
  if (counts_.contains(key) || begun_.contains(key)) return;
  try {
    begun_.emplace(key, begin_code(row, baseline));
  } catch (const FormattedError&) {  // code_of() says why
  }
}

Figures FigureSource::of_config(const KernelConfig& named, const std::string& arch) {
  const auto& [kernel, version, include] = kernels_.find(named.kernel, "");
  const Config config = complete(kernel, named.config);
  const DeviceInfo info = nominal_device(arch);
  Figures figures;
  figures.title =
      fmt::format("{} {}, the sizes of its smoke test", named.kernel, to_text(kernel.smoke));
  figures.where = "on a " + info.name;
  figures.config = config;
  figures.cc = info.cc;
  figures.sm_count = info.sm_count;
  const CompiledEntries entries =
      add_code(figures, compile_job(kernel, kernel.smoke, config, info, arch, include));
  add_plan(figures, make_plan(kernel, kernel.smoke, config, info), entries);
  return figures;
}

Figures FigureSource::of_trial(const TrialRow& row, Code code) {
  const TrialRecord& trial = row.record;
  Figures figures;
  figures.title = fmt::format("trial {}: {} {}", row.id, trial.kernel.name, to_text(trial.problem));
  figures.question = fmt::format("{} {} {} on {}", trial.kernel.op, to_text(trial.problem),
                                 trial.protocol.name, row.device.name);
  figures.where = row.provenance.empty() ? "on " + row.device.name : row.provenance;
  figures.config = trial.config;
  figures.protocol = trial.protocol.name;
  if (const std::optional<Timing>& timing = trial.outcome.timing) {
    figures.time_ns = {timing->median_ns, timing->ci_low_ns, timing->ci_high_ns};
    if (timing->censored()) figures.protocol += ", stopped early";
    figures.clock_mhz = timing->clock_mhz;
    if (timing->state) figures.throttled = throttle_text(timing->state->throttle_reasons);
    figures.roofline_ns = timing->roofline_ns;
  }
  figures.cc = row.device.cc;
  figures.sm_count = row.device.sm_count;
  if (trial.compile.registers > 0) figures.report = trial.compile;  // else it is another tuner's
  figures.counters = trial.measurements;
  figures.profile_command = row.provenance.empty() && trial.outcome.timing
                                ? fmt::format("assay profile {}", row.id)
                                : "assay sweep on such a GPU, and assay profile there";
  try {
    const auto& [kernel, version, include] = kernels_.find(trial.kernel.name, row.command_line);
    if (version != trial.kernel) {
      figures.no_code = trial.kernel.source_hash.empty()
                            ? "it is not known of which source this trial is; sweep it again"
                            : trial.kernel.name + " has changed since; sweep it again";
      return figures;
    }
    const Plan plan = make_plan(kernel, trial.problem, trial.config, row.device);
    CompiledEntries entries;
    if (code == Code::read) {
      entries = add_code(figures, compile_job(kernel, trial.problem, trial.config, row.device,
                                              trial.toolchain.arch, include));
    }
    add_plan(figures, plan, entries);
    if (trial.outcome.timing) add_ceilings(figures, row, plan);
  } catch (const UsageError& error) {
    figures.no_code = error.what();
  } catch (const PlanError& error) {
    figures.no_code = error.what();
  }
  return figures;
}

}  // namespace assay
