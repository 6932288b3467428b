#pragma once

#include <optional>

#include "compile/compiler.h"
#include "device/gpu_device.h"

namespace assay {

/// The stored ceilings of this device under this driver, if they were measured before. A file that
/// cannot be read counts as none; they are then measured again.
std::optional<Ceilings> load_ceilings(const DeviceInfo& device);

/// Compiles the worker's own kernels for the GPU and hands them to the worker, with the device's
/// ceilings. The ceilings are measured the first time. Returns them. Throws Error.
Ceilings set_up_gpu(GpuDevice& gpu, Compiler& compiler);

/// The same for the emulator, which has no ceilings. `compiler` is one for the emulator.
void set_up_emulator(GpuDevice& emulator, Compiler& compiler);

}  // namespace assay
