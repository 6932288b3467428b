#include "tuner/sweep_run.h"

#include <algorithm>
#include <chrono>
#include <future>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/cubin_info.h"
#include "base/elapsed.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "report/launch_figures.h"
#include "space/launched.h"
#include "space/plan.h"
#include "space/space.h"
#include "spec/cuda_source.h"
#include "spec/entry.h"
#include "tuner/kernel_version.h"
#include "tuner/source_check.h"

namespace assay {
namespace {

/// "\nk.cu has the kernels ns::foo, bar": what a contract might have meant. Headers are not read.
std::string entries_there(const CompileResult& compiled, const std::filesystem::path& source) {
  if (compiled.kind != "missing_entry") return {};
  std::vector<std::string> names;
  for (const CudaSource::Kernel& kernel : read_cuda_source(source).kernels) {
    names.push_back(kernel.name);
  }
  if (names.empty()) return {};
  return fmt::format("\n{} has the kernel{} {}", source.filename().string(),
                     names.size() == 1 ? "" : "s", fmt::join(names, ", "));
}

Outcome compile_failure(const CompileResult& compiled, const KernelSpec& kernel,
                        const Config& config) {
  Outcome outcome{Status::compile, compiled.kind,
                  compiled.log + entries_there(compiled, kernel.source_path)};
  for (const auto& [name, value] : config) {
    if (compiled.log.find(fmt::format("identifier \"{}\" is undefined", name)) ==
        std::string::npos) {
      continue;
    }
    // Any other parameter is a macro, which no log calls an identifier.
    outcome.message += fmt::format("\n{} stands in an entry, so it is no macro", name);
  }
  return outcome;
}

/// Compiles a kernel of a reference or a baseline, or one that fills an input, for the sizes of a
/// problem. Throws SpecError at what in the contract is wrong, Error where the machine fails.
CompileResult compile_own(SweepRun& run, const KernelSpec& kernel,
                          const ReferenceKernelSpec& reference, const Problem& problem,
                          bool fast_math) {
  const CompileJob job =
      own_compile_job(kernel, reference, problem, run.device.info(), run.options.arch,
                      run.options.include_directories, fast_math);
  const CompileResult compiled = run.compile(job);
  if (compiled.kind == "missing_entry") {
    throw SpecError(reference.entry_where, "expected a kernel of {}, found\n{}{}",
                    reference.source.filename().string(), compiled.log,
                    entries_there(compiled, reference.source));
  }
  if (!compiled.ok && is_machine_fault(Status::compile, compiled.kind)) {
    throw Error("the machine failed the compile of {}: {}", reference.source.string(),
                compiled.log);
  }
  if (!compiled.ok) {
    throw SpecError(reference.source_where, "expected a source that compiles, found\n{}",
                    compiled.log);
  }
  check_reference_arguments(kernel, reference, compiled.symbols.at(job.entries.front()),
                            read_file(compiled.cubin_path));
  return compiled;
}

/// What a compiled configuration takes of an SM: of its launches, the most shared memory and the
/// fewest blocks.
std::vector<Measurement> compiled_figures(const Plan& plan, int cc,
                                          const CompiledEntries& entries) {
  std::optional<double> blocks;
  std::int64_t smem_bytes = 0;
  for (const LaunchFigures& launch : launch_figures(plan, cc, entries, std::nullopt)) {
    smem_bytes = std::max(smem_bytes, launch.smem_bytes);
    if (!launch.occupancy) continue;
    const double of = launch.occupancy->blocks;
    blocks = std::min(blocks.value_or(of), of);
  }
  std::vector<Measurement> figures{{std::string(kBlockSmem), static_cast<double>(smem_bytes), "B"}};
  if (blocks) figures.push_back({std::string(kBlocksPerSm), *blocks, ""});
  return figures;
}

}  // namespace

Filter SweepRun::filter(const std::string& op, const Problem& problem) {
  return {.op = op, .problem = to_text(problem)};
}

const std::vector<std::vector<int>>* SweepRun::drawn_points(const KernelSpec& kernel,
                                                            const Problem& problem) const {
  const auto found = drawn.find({kernel.name, to_text(problem)});
  return found == drawn.end() ? nullptr : &found->second;
}

std::optional<Config> SweepRun::first_config(const KernelSpec& kernel,
                                             const Problem& problem) const {
  const Space space(kernel, problem, device.info());
  std::optional<Config> first;
  const auto take = [&](const std::vector<int>& point) {
    first = space.config(point);
    return false;
  };
  const auto* const points = drawn_points(kernel, problem);
  if (points == nullptr) {
    space.for_each(take);
  } else if (!points->empty()) {
    take(points->front());
  }
  return first;
}

TrialKey SweepRun::key_of(const KernelSpec& kernel, const Problem& problem,
                          const Config& config) const {
  return {versions.at(kernel.name),
          {compiler.nvrtc_version(), options.arch, compiler.options(), device.info().driver},
          {options.compile_only ? "compile" : sweep.measure.protocol,
           options.compile_only ? 0 : sweep.measure.precision_ratio},
          problem,
          config};
}

CompileJob SweepRun::compile_job(const KernelSpec& kernel, const Problem& problem,
                                 const Config& config) const {
  return assay::compile_job(kernel, problem, config, device.info(), options.arch,
                            options.include_directories);
}

TrialRequest SweepRun::request_of(const KernelSpec& kernel, const Problem& problem,
                                  const Config& config, const CompileResult& compiled) {
  TrialRequest request{make_plan(kernel, problem, config, device.info()), compiled.cubin_path,
                       sweep.measure};
  for (auto* launches : {&request.plan.launches, &request.plan.prepare}) {
    for (LaunchPlan& launch : *launches) {
      if (compiled.ok) launch.symbol = compiled.symbols.at(launch.entry);
    }
  }
  std::vector<CompileResult>& known = references[{kernel.name, to_text(problem)}];
  if (known.empty()) {
    std::vector<CompileResult> all;
    for (const ReferenceKernelSpec* own : own_kernels(kernel)) {
      all.push_back(compile_own(*this, kernel, *own, problem, false));
    }
    known = std::move(all);
  }
  std::size_t next = 0;
  for (ReferenceKernelPlan* own : own_kernels(request.plan)) {
    const CompileResult& made = known[next++];
    own->cubin_path = made.cubin_path.string();
    own->launch.symbol = made.symbols.at(own->launch.entry);
  }
  return request;
}

BaselinePlan SweepRun::baseline_plan(const KernelSpec& kernel, const BaselineSpec& baseline,
                                     const Plan& plan) {
  BaselinePlan made = make_baseline_plan(kernel, baseline, plan, device.info());
  for (std::size_t i = 0; i < made.steps.size(); ++i) {
    auto& step = made.steps[i].kernel;
    if (!step) continue;
    const CompileResult compiled = compile_own(*this, kernel, *baseline.steps[i].kernel,
                                               plan.problem, is_fast_math_always(kernel));
    step->cubin_path = compiled.cubin_path.string();
    step->launch.symbol = compiled.symbols.at(step->launch.entry);
  }
  return made;
}

Candidate SweepRun::candidate(const KernelSpec& kernel, const TrialRecord& trial) const {
  const Timing& timing = *trial.outcome.timing;
  return {&kernel,
          trial.config,
          timing.median_ns,
          timing.censored(),
          trial.compile,
          timing.roofline_ns,
          timing.ci_low_ns,
          trial.outcome.same_as,
          figures_of(sweep.rerank.objective, kernel, trial, device.info())};
}

std::vector<Measurement> SweepRun::count_for_objective(const KernelSpec& kernel, TrialRecord& trial,
                                                       const CompileResult* compiled) {
  const Outcome& outcome = trial.outcome;
  if (outcome.status != Status::correct || !outcome.timing) return {};
  std::vector<std::string> names = sweep.rerank.objective.counters();
  for (const Measurement& known : trial.measurements) std::erase(names, known.name);
  if (names.empty()) return {};
  check_interrupt();
  const CompileResult made = compiled ? *compiled : compile(kernel, trial.problem, trial.config);
  if (!made.ok) return {};
  std::vector<Measurement> counted;
  try {
    const AddElapsed busy(report.device_s);
    counted = device.count(request_of(kernel, trial.problem, trial.config, made), names);
  } catch (const Error& error) {
    report.warn("a trial that was not counted cannot win: {}", error.what());
  }
  trial.measurements.insert(trial.measurements.end(), counted.begin(), counted.end());
  return counted;
}

CompileResult SweepRun::compile(const KernelSpec& kernel, const Problem& problem,
                                const Config& config) {
  return compile(compile_job(kernel, problem, config));
}

CompileResult SweepRun::compile(CompileJob job) {
  constexpr auto kPeriod = std::chrono::microseconds(200);
  std::future<CompileResult> future = compiler.submit(std::move(job));
  while (future.wait_for(kPeriod) != std::future_status::ready) check_interrupt();
  return future.get();
}

TrialRecord SweepRun::try_config(const KernelSpec& kernel, const TrialKey& key,
                                 const CompileResult& compiled, std::optional<double> best_ns) {
  TrialRecord record{key, compiled.report, {}, {}, {}};
  if (!compiled.ok) {
    record.outcome = compile_failure(compiled, kernel, key.config);
  } else {
    std::string cubin;
    if (std::filesystem::exists(compiled.cubin_path)) {  // else the worker says that it is gone
      cubin = read_file(compiled.cubin_path);
      check_launch_arguments(kernel, key.config, compiled.symbols, cubin);
      for (const std::string& text : template_warnings(kernel, key.config, compiled.symbols)) {
        report.warn(text);
      }
    }
    const AddElapsed busy(report.device_s);
    try {
      TrialRequest request = request_of(kernel, key.problem, key.config, compiled);
      if (!cubin.empty()) check_variables(kernel, request.plan, cubin);
      check_cooperative(request.plan, cubin, device.info());
      request.best_ns = best_ns;
      record.outcome = device.run(request);
      if (record.outcome.status == Status::compiled) {
        record.measurements = compiled_figures(request.plan, device.info().cc,
                                               {kernel_limits_of(cubin), compiled.symbols});
      }
    } catch (const PlanError& error) {
      record.outcome = {Status::runtime, "launch", error.what(), {}, {}, 0};
    }
  }
  count_for_objective(kernel, record, &compiled);
  record.finished_at = recorded_or_now(record.outcome.recorded_at);
  return record;
}

std::string now_utc() {
  // libc's functions take a lock, with which a compiler that is forked meanwhile waits for ever.
  using namespace std::chrono;
  const auto now = floor<seconds>(system_clock::now());
  const auto today = floor<days>(now);
  const year_month_day date(today);
  const hh_mm_ss time(now - today);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

std::string recorded_or_now(const std::string& recorded_at) {
  return recorded_at.empty() ? now_utc() : recorded_at;
}

}  // namespace assay
