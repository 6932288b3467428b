#pragma once

#include <string>
#include <vector>

#include "launch/launcher.h"

namespace assay {

/// Memory that was loaded with a configuration's code, that its kernels can write, and that
/// outlives a launch.
struct ModuleMemory {
  CUdeviceptr data = 0;  // 8-byte aligned
  std::size_t bytes = 0;
  std::string names;  // of the variables in it
};

/// The variables of `launcher`'s code, `cubin`, without what is copied to them. Throws Failure
/// where nothing could tell whether a launch keeps something: `correctness`, `state` for code that
/// allocates from the device's heap, `runtime`, `launch` for a variable that has no address.
std::vector<ModuleMemory> module_memory(const Driver& driver, const Launcher& launcher,
                                        const std::string& cubin);

}  // namespace assay
