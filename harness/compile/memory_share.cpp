#include "compile/memory_share.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/limits.h"

namespace assay {

std::uint64_t machine_memory_bytes(const std::filesystem::path& cgroup) {
  std::uint64_t bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  // The two versions of control groups. Without a limit there is no such file, or no number in it,
  // or an enormous one.
  for (const char* name : {"memory.max", "memory/memory.limit_in_bytes"}) {
    std::uint64_t limit_bytes = 0;
    if (std::ifstream(cgroup / name) >> limit_bytes) bytes = std::min(bytes, limit_bytes);
  }
  return bytes;
}

std::uint64_t compile_memory_bytes(std::uint64_t machine_bytes, int num_compiles) {
  const double share_bytes = kCompileMemoryRatio * static_cast<double>(machine_bytes) /
                             static_cast<double>(std::max(num_compiles, 1));
  return std::max(static_cast<std::uint64_t>(share_bytes), kMinCompileBytes);
}

}  // namespace assay
