#include "sweep_run.h"

#include <ctime>
#include <future>

#include "base/elapsed.h"
#include "base/interrupt.h"

namespace assay {
namespace {

Outcome compile_failure(const CompileResult& compiled) {
  Outcome outcome;
  outcome.status = Status::compile;
  outcome.kind = compiled.kind;
  outcome.message = compiled.log;
  return outcome;
}

}  // namespace

TrialKey SweepRun::key_of(const KernelSpec& kernel, const Problem& problem,
                          const Config& config) const {
  return {versions.at(kernel.name),
          {compiler.nvrtc_version(), options.arch, compiler.options(), device.info().driver},
          {options.compile_only ? "compile" : sweep.measure.protocol,
           options.compile_only ? 0 : sweep.measure.precision_ratio},
          problem,
          config};
}

CompileJob SweepRun::compile_job(const KernelSpec& kernel, const Config& config) const {
  return {kernel.source_path, options.include_directories, config, options.arch};
}

TrialRequest SweepRun::request_of(const KernelSpec& kernel, const Problem& problem,
                                  const Config& config, const CompileResult& compiled) const {
  return {make_plan(kernel, problem, config, device.info()), compiled.cubin_path, sweep.measure};
}

CompileResult SweepRun::compile(const KernelSpec& kernel, const Config& config) {
  constexpr auto kPollPeriod = std::chrono::microseconds(200);
  std::future<CompileResult> future = compiler.submit(compile_job(kernel, config));
  while (future.wait_for(kPollPeriod) != std::future_status::ready) check_interrupt();
  return future.get();
}

TrialRecord SweepRun::try_config(const KernelSpec& kernel, const TrialKey& key,
                                 const CompileResult& compiled, std::optional<double> best_ns) {
  TrialRecord record{key.kernel, key.toolchain,   key.protocol, key.problem,
                     key.config, compiled.report, {},           {},
                     {}};
  if (!compiled.ok) {
    record.outcome = compile_failure(compiled);
  } else {
    const AddElapsed busy(report.device_s);
    try {
      TrialRequest request = request_of(kernel, key.problem, key.config, compiled);
      request.best_ns = best_ns;
      record.outcome = device.run(request);
    } catch (const PlanError& error) {
      record.outcome = {Status::runtime, "launch", error.what(), {}, {}, 0};
    }
  }
  record.finished_at = now_utc();
  return record;
}

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace assay
