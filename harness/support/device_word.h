#pragma once

#include "cuda/handles.h"

namespace assay {

/// A zeroed value in device memory that a kernel adds to. It is for results that are read once, not
/// for what runs in every trial.
template <typename T>
class DeviceWord {
 public:
  DeviceWord(const Driver& driver, CUstream stream)
      : driver_(&driver), stream_(stream), memory_(allocate(driver, sizeof(T))) {
    driver.check(driver.cuMemsetD8Async(memory_.get(), 0, sizeof(T), stream), "cuMemsetD8Async");
  }

  CUdeviceptr pointer() const { return memory_.get(); }

  /// Waits for the stream.
  T read() const {
    T value{};
    driver_->check(driver_->cuMemcpyDtoHAsync(&value, memory_.get(), sizeof(T), stream_),
                   "cuMemcpyDtoHAsync");
    driver_->check(driver_->cuStreamSynchronize(stream_), "cuStreamSynchronize");
    return value;
  }

 private:
  const Driver* driver_;
  CUstream stream_;
  DeviceMemory memory_;
};

}  // namespace assay
