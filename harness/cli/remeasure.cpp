#include "cli/remeasure.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "cli/gpu_setup.h"
#include "cli/include_path.h"
#include "spec/twins.h"
#include "tuner/progress.h"
#include "tuner/tuner.h"

namespace assay {

Remeasurer::Remeasurer(const std::filesystem::path& kernels,
                       const std::vector<std::string>& include,
                       const std::filesystem::path& program)
    : kernels_(kernels),
      include_directories_(include_path(kernels, include)),
      compiler_({cache_directory(), 0, 60, true}),
      gpu_({0, program}) {
  set_up_gpu(gpu_, compiler_);
}

std::string Remeasurer::obstacle(const RunResult& result) {
  if (!result.rank) return "there is no verdict with a winner";
  if (result.device.slug() != gpu().slug()) {
    return fmt::format("it was measured on {}, and this is {}", result.device.name, gpu().name);
  }
  const std::string& name = result.winner().kernel;
  const auto [found, is_new] = loaded_.try_emplace(name);
  if (is_new) found->second = find_kernel(kernels_, name);
  if (!found->second) {
    return fmt::format("there is no kernel {} in {}; name its folder with --kernels", name,
                       kernels_.string());
  }
  if (version_of(*found->second, include_directories_) != result.rank->version_of(name)) {
    return fmt::format("{} has changed since", found->second->yaml_path.string());
  }
  return "";
}

const KernelSpec& Remeasurer::kernel_of(const RunResult& result) {
  return *loaded_.at(result.winner().kernel);
}

RunResult Remeasurer::measure(const RunResult& result) {
  KernelSpec kernel = with_values_of(parse_config(result.winner().config), kernel_of(result));
  SweepSpec sweep;
  sweep.name = "again";
  sweep.yaml_path = kernel.yaml_path;
  sweep.kernels.push_back(std::move(kernel));
  sweep.problems = {result.problem};
  sweep.measure.protocol = result.protocol;
  Store store = Store::in_memory();
  Progress progress(Progress::Mode::silent);
  Tuner tuner(sweep, gpu_, compiler_, store, progress,
              {include_directories_, native_arch(gpu_.info().cc), "measured again", kernels_, "",
               false, false});
  tuner.run();
  Run run = make_run("measured now", store, {});
  if (run.results.empty()) throw Error("nothing was measured again");
  return std::move(run.results.front());
}

}  // namespace assay
