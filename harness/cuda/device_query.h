#pragma once

#include <string>

#include "base/device_info.h"
#include "cuda/driver.h"

namespace assay {

/// What the driver and NVML say about a GPU. Throws CudaError.
DeviceInfo query_device(const Driver& driver, CUdevice device);

/// "580.159.04" by NVML; empty when NVML is not there.
std::string driver_version();

}  // namespace assay
