// `assay check`: whether kernels are right, where there is no GPU.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/terminal.h"
#include "cli/emulated.h"
#include "cli/gpu_setup.h"
#include "cli/include_path.h"
#include "cli/known_code.h"
#include "cli/verbs.h"
#include "compile/nvrtc_compiler.h"
#include "device/gpu_device.h"
#include "judge/reference_shapes.h"
#include "messages/emulator.h"
#include "report/table.h"
#include "space/space.h"
#include "spec/sweep_spec.h"
#include "store/store.h"
#include "tuner/kernel_version.h"
#include "tuner/sweep_run.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct CheckOptions {
  std::vector<std::string> targets;
  std::string kernels;
  std::vector<std::string> include;
  SampleOptions sample;
};

/// A configuration, or all that a file names.
int run_target(const CheckOptions& options, const std::string& target) {
  if (const auto named = named_config(target)) {
    const std::string folder = kernel_folder(options.kernels);
    const KernelSpec kernel = known_kernel(folder, named->kernel);
    return run_emulated({{kernel, {complete(kernel, named->config)}}},
                        include_path(folder, options.include), options.sample);
  }
  const fs::path file = here_or_shipped(target);
  const fs::path folder =
      options.kernels.empty() ? kernel_folder_of_file(file) : fs::path(options.kernels);
  return run_emulated(kernels_of(load_sweep(file, folder)), include_path(folder, options.include),
                      options.sample);
}

int run_check_verb(const CheckOptions& options) {
  int worst = kExitDone;
  for (const std::string& target : options.targets) {
    worst = std::max(worst, run_target(options, target));
  }
  return worst;
}

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

void add_check(Command program) {
  auto options = std::make_shared<CheckOptions>();
  Command verb = program.add_command(
      "check",
      "run a sample of kernels' configurations on the CPU, without a GPU: are they right?");
  verb.add_option("KERNEL|CONFIG", options->targets,
                  "kernels (kernels/*.yaml), sweeps (sweeps/*.yaml), or configurations as "
                  "KERNEL:NAME=VALUE,..")
      .required();
  verb.add_option("--sample COUNT", options->sample.count,
                  "how many configurations of each kernel to run; default: 3")
      .between(1, std::numeric_limits<int>::max());
  verb.add_option("--threads COUNT", options->sample.threads,
                  "compiler threads; default: one for each core")
      .between(1, std::numeric_limits<int>::max());
  add_kernel_folders(verb, options->kernels, options->include, "the folder of the file");
  verb.footer(
      "example: assay check kernels/vector_add.yaml --sample 5\n"
      "Each kernel runs on its smoke problem. Exit code 1: a configuration is wrong.");
  verb.runs([options] { return run_check_verb(*options); });
}

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
  GpuDevice emulator({kEmulatorIndex, {}, kHangSeconds});
  set_up_emulator(emulator, compiler);
  Store store = Store::in_memory();
  LoneRun lone(
      emulator, compiler, store,
      {include_directories, native_arch(emulator.info().cc), "", include_directories.front()});
  print_err("no GPU is used: the emulator runs kernels on the CPU. Nothing is timed or ranked.\n");
  bool is_right = true;
  for (const EmulatedKernel& kernel : kernels) {
    const Tally tally = run_kernel(lone.run, kernel, options);
    is_right = is_right && tally.num_wrong == 0 && tally.num_correct > 0;
  }
  return is_right ? kExitDone : kExitNo;
}

}  // namespace assay
