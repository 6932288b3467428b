#pragma once

#include "support/support_kernels.h"

namespace assay {

/// A zeroed value in device memory that a kernel adds to. To make one allocates
/// memory, so what runs in every trial keeps one.
template <typename T>
class DeviceWord {
 public:
  explicit DeviceWord(const SupportKernels& support)
      : support_(&support), memory_(allocate(support.driver(), sizeof(T))) {
    clear();
  }

  void clear() const {
    support_->driver().cuMemsetD8Async(pointer(), 0, sizeof(T), support_->stream());
  }

  CUdeviceptr pointer() const { return memory_.get(); }

  /// Waits for the stream.
  T read() const {
    T value{};
    support_->download(&value, pointer(), sizeof(T));
    return value;
  }

 private:
  const SupportKernels* support_;
  DeviceMemory memory_;
};

}  // namespace assay
