#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/known_code.h"
#include "compile/nvrtc_compiler.h"
#include "device/gpu_device.h"
#include "report/run.h"

namespace assay {

/// Measures winners of a run again on a GPU of this machine: each is compiled, checked, timed and
/// re-ranked with its baselines as in a sweep of its own, and nothing is stored.
class Remeasurer {
 public:
  /// Takes the first GPU. `program` is the assay that becomes the worker; empty: this one. Throws
  /// Error.
  Remeasurer(const std::filesystem::path& kernels, const std::vector<std::string>& include,
             const std::filesystem::path& program = {});

  /// Why the best of a result cannot be measured here: another GPU, or its kernel has changed or is
  /// not there. Empty if it can.
  std::string obstacle(const RunResult& result);
  /// The result measured now. It has no verdict if the kernel fails its check. Precondition: no
  /// obstacle. Throws Error when the GPU is lost.
  RunResult measure(const RunResult& result);

 private:
  std::filesystem::path folder_;
  std::vector<std::filesystem::path> include_directories_;
  KnownKernels kernels_;
  NvrtcCompiler compiler_;
  GpuDevice gpu_;
};

}  // namespace assay
