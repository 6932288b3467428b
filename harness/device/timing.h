#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/trial.h"
#include "device/support_kernels.h"
#include "spec/sweep_spec.h"

namespace assay {

/// Enqueues work on the timer's stream without waiting for it.
using Work = std::function<void()>;

/// Takes times under the cold protocol: L2 is evicted by reading a buffer of twice its size, the
/// stream is held by a spin kernel until everything is enqueued, two events stand around the work,
/// and the GPU is idle between samples, so that it runs at boost clocks.
///
/// The work must have run once before: a kernel that is loaded lazily while the stream is held
/// waits for the device, which waits for the host.
class Timer {
 public:
  /// Throws CudaError when there is no room for the flush buffer.
  Timer(const Driver& driver, CUstream stream, const SupportKernels& support,
        std::int64_t l2_bytes);

  /// Enqueues the read that evicts L2.
  void flush() const;

  /// One sample: `before` (the flush, or nothing) runs ahead of the first event. Waits.
  double sample_ns(const Work& before, const Work& work);
  double cold_sample_ns(const Work& work);
  /// The median of `samples` cold samples after one that is thrown away.
  double quick_median_ns(const Work& work, int samples);

  /// Samples until the interval of the median is narrow enough or time runs out.
  Timing measure(const Work& work, const MeasureSpec& spec);

 private:
  class Release;

  const Driver* driver_;
  CUstream stream_;
  const SupportKernels* support_;
  DeviceMemory flush_buffer_;
  std::size_t flush_bytes_;
  PinnedMemory flags_;
  CUdeviceptr flags_on_device_;
  Event begin_;
  Event end_;
  std::uint32_t ticket_ = 0;
};

}  // namespace assay
