#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cuda/handles.h"
#include "support/support_kernels.h"

namespace assay {

/// A buffer between two guard zones, [begin, data) and [data + bytes, end). The zones hold the
/// poison word as long as no kernel writes outside its buffers. `data` is 1024-byte aligned.
struct GuardedBuffer {
  std::string name;
  CUdeviceptr data = 0;
  std::size_t bytes = 0;
  CUdeviceptr begin = 0;
  CUdeviceptr end = 0;
};

/// The driver maps device memory in pages of 2 MiB. What is left of a buffer's last page could be
/// written unseen, so allocations take whole pages, and guard zones reach to their end.
inline constexpr std::size_t kPageBytes = std::size_t{2} << 20;
std::size_t whole_pages(std::size_t bytes);

/// The memory that a buffer of `bytes` takes with its guard zones; a multiple of 1024.
std::size_t guarded_bytes(std::size_t bytes);

/// Places a buffer, with its guard zones, at `begin`, which is 1024-byte aligned.
GuardedBuffer place_buffer(const std::string& name, std::size_t bytes, CUdeviceptr begin);

/// Widens the guard zone behind the last of the buffers that begin at `begin`, where memory begins,
/// to the end of its page.
void guard_whole_page(GuardedBuffer& last, CUdeviceptr begin);

/// Enqueues the fill of `bytes`, a multiple of 4, with the poison word. Throws CudaError.
void poison(const SupportKernels& support, CUdeviceptr begin, std::size_t bytes);

/// One piece of device memory for the outputs and scratch of a trial, one after another. So a
/// single memset poisons all of them and their guard zones. It grows and never shrinks.
class Arena {
 public:
  explicit Arena(const Driver& driver) : driver_(&driver) {}

  /// Makes room for `bytes`. Buffers that were placed before become invalid. Throws CudaError.
  void reserve(std::size_t bytes);
  /// Gives the memory back.
  void release();
  /// Hands the memory, with the buffers in it, to the caller.
  DeviceMemory take();

  CUdeviceptr begin() const;  ///< 1024-byte aligned

 private:
  const Driver* driver_;
  DeviceMemory memory_;
  std::size_t capacity_ = 0;
};

/// The guard zones of some buffers. A single launch fills all of them, and another checks them.
class GuardZones {
 public:
  /// Throws CudaError.
  GuardZones(const SupportKernels& support, const std::vector<GuardedBuffer>& buffers);

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
