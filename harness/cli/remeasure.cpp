#include "cli/remeasure.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "cli/gpu_setup.h"
#include "cli/include_path.h"
#include "space/space.h"
#include "tuner/progress.h"
#include "tuner/tuner.h"

namespace assay {

Remeasurer::Remeasurer(const std::filesystem::path& kernels,
                       const std::vector<std::string>& include,
                       const std::filesystem::path& program)
    : folder_(kernels),
      include_directories_(include_path(kernels, include)),
      kernels_(kernels.string(), include),
      compiler_({cache_directory()}),
      gpu_({0, program}) {
  set_up_gpu(gpu_, compiler_);
}

std::string Remeasurer::obstacle(const RunResult& result) {
  if (!result.rank) return "there is no verdict with a winner";
  const DeviceInfo& gpu = gpu_.info();
  if (result.device.slug() != gpu.slug()) {
    return fmt::format("it was measured on {}, and this is {}", result.device.name, gpu.name);
  }
  const std::string& name = result.winner().kernel;
  try {
    const auto& [kernel, version, folders] = kernels_.find(name);
    if (version != result.rank->version_of(name)) {
      return fmt::format("{} has changed since", kernel.yaml_path.string());
    }
  } catch (const NoKernel& none) {
    return none.what();
  }
  return "";
}

RunResult Remeasurer::measure(const RunResult& result) {
  const RankEntry& winner = result.winner();
  KernelSpec kernel =
      with_values_of(parse_config(winner.config), kernels_.find(winner.kernel).spec);
  SweepSpec sweep;
  sweep.name = "again";
  sweep.yaml_path = kernel.yaml_path;
  sweep.kernels.push_back(std::move(kernel));
  sweep.problems = {result.problem};
  sweep.measure.protocol = result.protocol;
  Store store = Store::in_memory();
  Progress progress(Progress::Mode::silent);
  Tuner tuner(sweep, gpu_, compiler_, store, progress,
              {include_directories_, native_arch(gpu_.info().cc), "measured again", folder_});
  tuner.run();
  Run run = make_run("measured now", store, {});
  if (run.results.empty()) throw Error("nothing was measured again");
  return std::move(run.results.front());
}

}  // namespace assay
