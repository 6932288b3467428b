#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "spec/sweep_spec.h"

namespace assay {

/// How much of each kernel's configurations run on the emulator.
struct SampleOptions {
  int count = 3;  // of each kernel
  std::uint64_t seed = 1;
  int threads = 0;  // of the compiler; 0: one for each core
};

// Each of these runs configurations on the emulator: on the kernel's smoke problem, or on one as
// small as the kernel allows them. A sample is of configurations that a sweep has for its problems.
// Nothing is timed, and nothing is stored. They throw Error, SpecError.

/// Runs a sample of each kernel of a sweep, prints what became of each configuration, and returns
/// the exit code: kExitNo when one is wrong, or none of a kernel could be run.
int run_emulated(const SweepSpec& sweep,
                 const std::vector<std::filesystem::path>& include_directories,
                 const SampleOptions& options);

/// The same of one configuration.
int run_emulated(const KernelSpec& kernel, const Config& config,
                 const std::vector<std::filesystem::path>& include_directories,
                 const SampleOptions& options);

struct SampleResult {
  int num_wrong = 0;
  std::string text;  // the configurations that are wrong, and how many were run; "" if none was
};

/// Runs a small sample of a sweep that has `num_trials`: it takes about 10 seconds.
SampleResult run_quick_sample(const SweepSpec& sweep, std::size_t num_trials,
                              const std::vector<std::filesystem::path>& include_directories,
                              int num_threads);

}  // namespace assay
