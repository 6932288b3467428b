#pragma once

#include <string>

#include "base/device_info.h"
#include "cuda/driver.h"

namespace assay {

/// What the driver and NVML say about a GPU. Throws CudaError.
DeviceInfo query_device(const Driver& driver, CUdevice device);
/// The same without the driver's version: to load NVML takes tens of milliseconds.
DeviceInfo query_gpu(const Driver& driver, CUdevice device);

/// The CUDA version that the driver runs, such as 13000 for 13.0; 0 without a driver. Does not
/// initialise CUDA, so a process that forks may ask.
int driver_cuda_version();

/// "580.159.04" by NVML; empty when NVML is not there.
std::string driver_version();

}  // namespace assay
