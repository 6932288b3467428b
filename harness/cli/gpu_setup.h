#pragma once

#include "compile/compiler.h"
#include "device/gpu_device.h"

namespace assay {

/// Compiles the worker's own kernels for the GPU and hands them to the worker, with the device's
/// ceilings. The ceilings are measured the first time. Returns them. Throws Error.
Ceilings set_up_gpu(GpuDevice& gpu, Compiler& compiler);

/// The same for the emulator, which has no ceilings. `compiler` is one for the emulator.
void set_up_emulator(GpuDevice& emulator, Compiler& compiler);

}  // namespace assay
