#pragma once

#include <optional>

#include "device/device.h"
#include "device/gpu_device.h"

namespace assay {

/// The stored ceilings of this device under this driver, if they were measured before. A file that
/// cannot be read counts as none; they are then measured again.
std::optional<Ceilings> load_ceilings(const DeviceInfo& device);

/// Stores the ceilings in cache_directory()/ceilings, in a file for each uuid and driver. Throws
/// Error.
void save_ceilings(const DeviceInfo& device, const Ceilings& ceilings);

/// The stored ceilings; if there are none, measures and stores them. They are measured again, too,
/// if the GPU now runs at another clock, because someone has set it. `gpu` must have its support
/// kernels already (setup).
Ceilings ensure_ceilings(GpuDevice& gpu, const Vitals& vitals);

}  // namespace assay
