#include "cli/emulated.h"

#include <fmt/format.h>

#include <future>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/terminal.h"
#include "cli/gpu_setup.h"
#include "cli/reference_check.h"
#include "compile/nvrtc_compiler.h"
#include "device/gpu_device.h"
#include "messages/emulator.h"
#include "report/table.h"
#include "space/space.h"
#include "store/store.h"
#include "tuner/kernel_version.h"
#include "tuner/progress.h"
#include "tuner/sweep_run.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// The emulator ends a launch that takes too many instructions; this is for what it does not see.
constexpr double kHangSeconds = 600;
constexpr double kCountSeconds = 1;

/// What became of a kernel's configurations.
struct Tally {
  int num_correct = 0, num_wrong = 0, num_not_run = 0;

  void add(const Outcome& outcome) {
    if (outcome.status == Status::correct) {
      ++num_correct;
    } else if (outcome.kind == "unsupported" || is_machine_fault(outcome.status, outcome.kind)) {
      ++num_not_run;
    } else {
      ++num_wrong;
    }
  }
};

std::string status_of(const Outcome& outcome) {
  std::string text(to_text(outcome.status));
  // What the emulator does not know is no fault of the kernel.
  if (outcome.kind == "unsupported") return "emulator/unsupported";
  if (!outcome.kind.empty()) text += "/" + outcome.kind;
  return text;
}

std::string count_text(const Tally& tally, const Space::Size& size) {
  const int num_run = tally.num_correct + tally.num_wrong;
  std::string text = fmt::format("{} of {}{} configurations were run on the emulator", num_run,
                                 size.whole ? "" : "more than ", format_count(size.valid));
  if (num_run > 0) {
    text += tally.num_wrong > 0 ? fmt::format(": {} wrong", tally.num_wrong) : ": all correct";
  }
  if (tally.num_not_run > 0) text += fmt::format(", {} could not be run", tally.num_not_run);
  return text;
}

Tally run_kernel(SweepRun& run, const EmulatedKernel& emulated, const SampleOptions& options) {
  const KernelSpec& kernel = emulated.kernel;
  const Problem& problem = kernel.smoke;
  check_reference_shapes(kernel, problem, run.device.info());
  run.versions[kernel.name] = version_of(kernel, run.options.include_directories);
  const Space space(kernel, problem, run.device.info());
  std::vector<Config> configs = emulated.configs;
  if (configs.empty()) {
    for (const auto& point : space.draw(static_cast<std::size_t>(options.count), options.seed)) {
      configs.push_back(space.config(point));
    }
  }
  std::vector<std::pair<Config, std::future<CompileResult>>> begun;
  for (const Config& config : configs) {
    begun.emplace_back(config, run.compiler.submit(run.compile_job(kernel, problem, config)));
  }
  print_out("{} {}\n", kernel.name, to_text(problem));
  Tally tally;
  for (auto& [config, compiled] : begun) {
    const Outcome outcome =
        run.try_config(kernel, run.key_of(kernel, problem, config), compiled.get(), std::nullopt)
            .outcome;
    tally.add(outcome);
    const std::string status = fmt::format("{:<24}", status_of(outcome));
    const Style style = outcome.status == Status::correct ? Style::good : Style::failure;
    write_out(fmt::format("  {} {}\n", stdout_terminal().has_color ? styled(status, style) : status,
                          to_text(config)));
    if (!outcome.message.empty()) print_out("    {}\n", outcome.message);
  }
  print_out("  {}\n", count_text(tally, space.size(kMaxCountedSteps, kCountSeconds)));
  return tally;
}

}  // namespace

std::vector<EmulatedKernel> kernels_of(const SweepSpec& sweep) {
  std::vector<EmulatedKernel> kernels;
  for (const KernelSpec& kernel : sweep.kernels) kernels.push_back({kernel});
  return kernels;
}

int run_emulated(const std::vector<EmulatedKernel>& kernels,
                 const std::vector<fs::path>& include_directories, const SampleOptions& options) {
  CompilerOptions compiler_options{cache_directory(), options.threads};
  compiler_options.for_emulator = true;
  NvrtcCompiler compiler(compiler_options);
  GpuOptions gpu_options;
  gpu_options.index = kEmulatorIndex;
  gpu_options.hang_timeout_s = kHangSeconds;
  GpuDevice emulator(gpu_options);
  set_up_emulator(emulator, compiler);
  const SweepSpec sweep;
  Store store = Store::in_memory();
  Progress progress(Progress::Mode::silent);
  SweepRun run{sweep,
               emulator,
               compiler,
               store,
               progress,
               {include_directories, native_arch(emulator.info().cc), "",
                include_directories.front(), "", false, false}};
  print_err("no GPU is used: the emulator runs kernels on the CPU. Nothing is timed or ranked.\n");
  bool is_right = true;
  for (const EmulatedKernel& kernel : kernels) {
    const Tally tally = run_kernel(run, kernel, options);
    is_right = is_right && tally.num_wrong == 0 && tally.num_correct > 0;
  }
  return is_right ? kExitDone : kExitNo;
}

}  // namespace assay
