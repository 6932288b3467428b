#pragma once

#include "cuda/handles.h"

namespace assay {

/// A zeroed value in device memory that a kernel adds to. To make one allocates
/// memory, so what runs in every trial keeps one.
template <typename T>
class DeviceWord {
 public:
  DeviceWord(const Driver& driver, CUstream stream)
      : driver_(&driver), stream_(stream), memory_(allocate(driver, sizeof(T))) {
    clear();
  }

  void clear() const { driver_->cuMemsetD8Async(memory_.get(), 0, sizeof(T), stream_); }

  CUdeviceptr pointer() const { return memory_.get(); }

  /// Waits for the stream.
  T read() const {
    T value{};
    driver_->cuMemcpyDtoHAsync(&value, memory_.get(), sizeof(T), stream_);
    driver_->cuStreamSynchronize(stream_);
    return value;
  }

 private:
  const Driver* driver_;
  CUstream stream_;
  DeviceMemory memory_;
};

}  // namespace assay
