#pragma once

#include <vector>

#include "support/arena.h"
#include "support/support_kernels.h"

namespace assay {

/// The guard zones of some buffers. A single launch fills all of them, and another checks them.
class GuardZones {
 public:
  /// Throws CudaError.
  GuardZones(const Driver& driver, CUstream stream, const SupportKernels& support,
             const std::vector<GuardedBuffer>& buffers);

  /// Enqueues the poison.
  void poison() const;
  /// Enqueues the check. Each buffer has two 64-bit words at `found`, which are zero: that of the
  /// zone ahead of it and that of the zone behind it. A word becomes ~distance of the changed byte
  /// that is nearest to the buffer.
  void check(CUdeviceptr found) const;

 private:
  const SupportKernels* support_;
  std::int64_t num_zones_;
  DeviceMemory table_;
};

}  // namespace assay
