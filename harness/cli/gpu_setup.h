#pragma once

#include "compile/compiler.h"
#include "device/gpu_device.h"

namespace assay {

/// Compiles the worker's own kernels for the GPU at hand and gives them to it, with the device's
/// ceilings, which are measured the first time. Returns the ceilings. Throws Error.
Ceilings set_up_gpu(GpuDevice& gpu, Compiler& compiler);

}  // namespace assay
