#pragma once

#include <cstdint>
#include <filesystem>

namespace assay {

/// The machine's memory, or what its container may take of it where that is less. `cgroup` is where
/// the limits of the container are shown.
std::uint64_t machine_memory_bytes(const std::filesystem::path& cgroup = "/sys/fs/cgroup");

/// What each of `num_compiles` at a time may take, see kCompileMemoryRatio.
std::uint64_t compile_memory_bytes(std::uint64_t machine_bytes, int num_compiles);

}  // namespace assay
