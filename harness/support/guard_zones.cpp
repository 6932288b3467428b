#include "support/guard_zones.h"

namespace assay {

GuardZones::GuardZones(const Driver& driver, CUstream stream, const SupportKernels& support,
                       const std::vector<GuardedBuffer>& buffers)
    : support_(&support), num_zones_(static_cast<std::int64_t>(2 * buffers.size())) {
  std::vector<GuardZone> zones;
  for (const GuardedBuffer& buffer : buffers) {
    zones.push_back({buffer.begin, buffer.data});
    zones.push_back({buffer.data + buffer.bytes, buffer.end});
  }
  if (zones.empty()) return;
  const std::size_t bytes = zones.size() * sizeof(GuardZone);
  table_ = allocate(driver, bytes);
  driver.check(driver.cuMemcpyHtoDAsync(table_.get(), zones.data(), bytes, stream),
               "cuMemcpyHtoDAsync");
  driver.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
}

void GuardZones::poison() const {
  if (num_zones_ > 0) support_->poison_zones(table_.get(), num_zones_);
}

void GuardZones::check(CUdeviceptr found) const {
  if (num_zones_ > 0) support_->guard_zones(table_.get(), num_zones_, found);
}

}  // namespace assay
