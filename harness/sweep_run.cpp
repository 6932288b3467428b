#include "sweep_run.h"

#include <ctime>

namespace assay {

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

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace assay
