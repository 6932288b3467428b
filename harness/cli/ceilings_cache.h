#pragma once

#include <optional>

#include "device/device.h"
#include "device/gpu_device.h"

namespace assay {

/// The ceilings of this device under this driver, if they were measured before. A file that cannot
/// be read as such counts as none: it is measured again.
std::optional<Ceilings> load_ceilings(const DeviceInfo& device);

/// Keeps them in cache_directory()/ceilings, a file for each uuid and driver. Throws Error.
void save_ceilings(const DeviceInfo& device, const Ceilings& ceilings);

/// Those kept, unless the GPU now runs at another clock than they were measured at (someone has set
/// it); else measures and keeps them. `gpu` has its support kernels already (setup).
Ceilings ensure_ceilings(GpuDevice& gpu, const Vitals& vitals);

}  // namespace assay
