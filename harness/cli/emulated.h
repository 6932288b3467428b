#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "spec/sweep_spec.h"

namespace assay {

/// How much of each kernel's configurations run on the emulator.
struct SampleOptions {
  int count = 3;  // of each kernel
  std::uint64_t seed = 1;
  int threads = 0;  // of the compiler; 0: one for each core
};

/// A kernel, and those of its configurations to run; none: a sample.
struct EmulatedKernel {
  KernelSpec kernel;
  std::vector<Config> configs = {};
};

/// Those of a sweep, of each a sample.
std::vector<EmulatedKernel> kernels_of(const SweepSpec& sweep);

/// Runs configurations of each kernel on its smoke problem on the emulator, prints what became of
/// each, and returns the exit code: kExitNo when one is wrong, or none could be run. Nothing is
/// timed, and nothing is stored. Throws Error, SpecError.
int run_emulated(const std::vector<EmulatedKernel>& kernels,
                 const std::vector<std::filesystem::path>& include_directories,
                 const SampleOptions& options);

}  // namespace assay
