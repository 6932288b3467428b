#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace assay {

/// What machine code says of the launches that it can take.
struct KernelLimits {
  std::int64_t smem_section_bytes = 0;  // static; from 90 on with the 1 KiB that CUDA reserves
  std::int64_t max_threads = 0;         // of __launch_bounds__; 0: it has none
  int registers = 0;                    // of a thread
};

/// The static shared memory that the source declares, for compute capability `cc`, 90 for 9.0.
inline std::int64_t static_smem_bytes(const KernelLimits& of, int cc) {
  constexpr std::int64_t kReservedBytes = 1024;
  return std::max<std::int64_t>(of.smem_section_bytes - (cc >= 90 ? kReservedBytes : 0), 0);
}

/// Of the entry points of a cubin. Nothing in what is no cubin.
std::map<std::string, KernelLimits> kernel_limits_of(std::string_view cubin);

}  // namespace assay
