#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "device/device.h"
#include "spec/sweep_spec.h"

namespace assay {

// What `assay sweep --device` names: GPUs by index, all, none, replay:FILE, or nothing.

/// Where a sweep runs, and what its results say about where they come from.
struct Target {
  std::unique_ptr<Device> device;
  std::string provenance;
  std::string arch;
  bool compile_only = false;
};

/// FILE of "replay:FILE"; empty if `device` is anything else.
std::filesystem::path replayed_file(const std::string& device);

/// The GPUs that `device` names; none when the sweep runs elsewhere, and then why, where a GPU was
/// looked for. Throws UsageError, and Error when one of several is not there: none of them is then
/// swept.
std::vector<int> choose_gpus(const std::string& device, std::string& no_gpu_reason);

/// A GPU whose worker is ready. Throws Error.
Target gpu_target(int index, Compiler& compiler);

/// A compiler for `arch` alone, or recorded trials: those that `device` names, else the project's
/// own recording of the sweep. Throws UsageError, and Error when there is none.
Target target_without_gpu(const std::string& device, const std::string& arch,
                          const std::filesystem::path& project, const SweepSpec& sweep,
                          const std::vector<std::filesystem::path>& include_directories,
                          const std::string& no_gpu_reason);

}  // namespace assay
