#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/recording.h"
#include "spec/kernel_spec.h"

namespace assay {

/// Every recording in PROJECT/results/recorded/GPU/, sorted by path.
std::vector<std::filesystem::path> find_recordings(const std::filesystem::path& project);

/// The recordings of a sweep, longest first. A recording has a line for each trial, so the longest
/// one has the most configurations. Throws UsageError naming a recording that cannot be read.
std::vector<std::filesystem::path> recordings_of(const std::filesystem::path& project,
                                                 const std::string& sweep_name);

/// Whether a kernel is still the one that was recorded. `unknown`: the recording has no source
/// hash.
enum class Recorded { current, changed, unknown };

/// `changed`: the kernel's source, a header or the contract has changed since the recording.
Recorded compare_with(const KernelSpec& kernel, const Recording& recording,
                      const std::vector<std::filesystem::path>& include_directories);

}  // namespace assay
