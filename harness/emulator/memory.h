#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace assay::emulator {

enum class MemoryAccess { read, write };

/// A range of addresses with the same rights.
struct MemoryRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool readable = true;
  bool writable = true;
};

/// The global memory of the device: which addresses of this process kernels may use.
class Memory {
 public:
  void add(const MemoryRange& range) {
    const std::unique_lock lock(mutex_);
    ranges_[range.begin] = range;
  }
  void remove(std::uint64_t begin) {
    const std::unique_lock lock(mutex_);
    ranges_.erase(begin);
  }
  /// The range that all of the bytes lie in, if they may be accessed so; else null.
  const MemoryRange* find(std::uint64_t address, std::size_t bytes, MemoryAccess access) const {
    const std::shared_lock lock(mutex_);
    auto next = ranges_.upper_bound(address);
    if (next == ranges_.begin()) return nullptr;
    const MemoryRange& range = (--next)->second;
    if (address >= range.end || bytes > range.end - address) return nullptr;
    return (access == MemoryAccess::read ? range.readable : range.writable) ? &range : nullptr;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, MemoryRange> ranges_;
};

}  // namespace assay::emulator
