// `assay check`: whether kernels are right, where there is no GPU.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/emulated.h"
#include "cli/include_path.h"
#include "cli/known_code.h"
#include "cli/verbs.h"
#include "spec/sweep_spec.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct CheckOptions : KernelFolders {
  std::vector<std::string> targets;
  SampleOptions sample;
};

/// A configuration, or all that a file names.
int run_target(const CheckOptions& options, const std::string& target) {
  if (const auto named = named_config(target)) {
    const std::string folder = kernel_folder(options.kernels);
    const KernelSpec kernel = known_kernel(folder, named->kernel);
    return run_emulated(kernel, complete(kernel, named->config),
                        include_path(folder, options.include), options.sample);
  }
  const fs::path file = here_or_shipped(target);
  const fs::path folder = kernel_folder_of_file(options.kernels, file);
  return run_emulated(load_sweep(file, folder), include_path(folder, options.include),
                      options.sample);
}

int run_check_verb(const CheckOptions& options) {
  int worst = kExitDone;
  for (const std::string& target : options.targets) {
    worst = std::max(worst, run_target(options, target));
  }
  return worst;
}

}  // namespace

void add_check(Command program) {
  auto [verb, options] = program.add_verb<CheckOptions>(
      "check", "run a sample of kernels' configurations on the CPU, without a GPU: are they right?",
      run_check_verb);
  verb.add_option("KERNEL|CONFIG", options->targets,
                  "kernels (kernels/*.yaml), sweeps (sweeps/*.yaml), or configurations as "
                  "KERNEL:NAME=VALUE,..")
      .required();
  verb.add_option("--sample COUNT", options->sample.count,
                  "how many configurations of each kernel to run; default: 3")
      .between(1);
  verb.add_option("--threads COUNT", options->sample.threads,
                  "compiler threads; default: one for each core")
      .between(1);
  add_kernel_folders(verb, *options, "the folder of the file");
  verb.footer(
      "example: assay check kernels/vector_add.yaml --sample 5\n"
      "Each kernel runs on its smoke problem, or a smaller one. Exit code 1: a configuration is "
      "wrong.");
}

}  // namespace assay
