#pragma once

#include <cstddef>

#include "cuda/driver.h"

namespace assay {

/// Device memory with addresses around it that belong to nothing: a kernel that reads or writes
/// there ends with an illegal address.
class FencedMemory {
 public:
  /// Where the memory touches its fence.
  enum class Side { end, begin };

  /// Room for `bytes`. At the side of the end, at most the bytes that round them up to a multiple
  /// of 256, which cuMemAlloc aligns to, lie between them and the fence. Throws CudaError, also
  /// where the driver has no virtual memory.
  FencedMemory(const Driver& driver, std::size_t bytes, Side side);
  ~FencedMemory();
  FencedMemory(const FencedMemory&) = delete;
  FencedMemory& operator=(const FencedMemory&) = delete;

  CUdeviceptr data() const { return data_; }    ///< 256-byte aligned
  CUdeviceptr begin() const { return begin_; }  ///< of all that is mapped
  std::size_t mapped_bytes() const { return mapped_bytes_; }

  /// From now on a kernel that writes to it ends with an illegal address. Nothing may be running on
  /// it. Throws CudaError.
  void forbid_writes();

 private:
  explicit FencedMemory(const Driver& driver) : driver_(&driver) {}
  void allow(CUmemAccess_flags access);

  const Driver* driver_;
  CUmemLocation location_{};
  CUdeviceptr reserved_ = 0;
  std::size_t reserved_bytes_ = 0;
  CUdeviceptr begin_ = 0;
  std::size_t mapped_bytes_ = 0;
  CUdeviceptr data_ = 0;
};

/// Whether the GPU of the current context has such memory. Throws CudaError.
bool has_fenced_memory(const Driver& driver);

}  // namespace assay
