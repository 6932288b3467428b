#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/recording.h"
#include "spec/kernel_spec.h"

namespace assay {

/// Every recording in PROJECT/results/recorded/GPU/, sorted by path.
std::vector<std::filesystem::path> find_recordings(const std::filesystem::path& project);

/// The recordings of the sweep, that with the most lines first: there is one for each trial, and a
/// sweep that has got more configurations leaves the recordings of other GPUs behind. Throws
/// UsageError naming a recording that cannot be read.
std::vector<std::filesystem::path> recordings_of(const std::filesystem::path& project,
                                                 const std::string& sweep_name);

/// Whether a recording is of a kernel as it is now. One that does not say which source its times
/// are of may be of any.
enum class Recorded { current, changed, unknown };

/// A recording is `changed` where the kernel's source, one of its headers or its contract has
/// changed since: its times are those of another program.
Recorded compare_with(const KernelSpec& kernel, const Recording& recording,
                      const std::vector<std::filesystem::path>& include_directories);

}  // namespace assay
