#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace assay {

/// What machine code says of the launches that it can take.
struct KernelLimits {
  std::int64_t smem_section_bytes = 0;  // static; from 90 on with the 1 KiB that CUDA reserves
  std::int64_t max_threads = 0;         // of __launch_bounds__; 0: it has none
};

/// Of the entry points of a cubin that have a limit. Nothing in what is no cubin.
std::map<std::string, KernelLimits> kernel_limits_of(std::string_view cubin);

}  // namespace assay
