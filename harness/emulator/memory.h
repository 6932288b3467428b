#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace assay::emulator {

enum class MemoryAccess { read, write };

/// The last plain write to four bytes. It is small, for memory is waited for, mostly.
struct GlobalWrite {
  std::uint32_t block, time;  // ClusterState::number_of(), LaunchState::num_strong
  std::uint32_t launch : 28, bytes : 4, op : 22, thread : 10;  // a bit for each of the bytes
};

/// A range of addresses with the same rights.
struct MemoryRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool readable = true;
  bool writable = true;
  std::shared_ptr<GlobalWrite[]> writes = {};  // of each word; null: they would take too much
};

/// Global memory of the emulated device. A device address is the address of the byte on the host,
/// so what find() allows may be read and written in place, also by several threads at once. All
/// other methods may be called only while nothing runs on the device.
///
/// A page belongs to one allocation at most, and between two allocations lies a page of nobody.
/// Freed addresses are given out again as late as possible.
class Memory {
 public:
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::size_t kMostNotedWords = 8 << 20;  // 32 MiB, with 128 MiB of notes

  /// Of so many bytes, beside what add() names. Throws Error when the host lacks the addresses.
  explicit Memory(std::size_t capacity_bytes = 0);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// The range that all of the bytes lie in, if they may be accessed so; else null.
  const MemoryRange* find(std::uint64_t address, std::size_t bytes, MemoryAccess access) const;

  /// Memory of this process that is the device's until remove(), such as a module's variables.
  void add(MemoryRange range) {
    const std::size_t words = (range.end - range.begin) / 4 + 1;
    if (words <= kMostNotedWords) {
      void* const zeros = std::calloc(words, sizeof(GlobalWrite));
      range.writes.reset(static_cast<GlobalWrite*>(zeros), std::free);
    }
    ranges_[range.begin] = range;
  }
  void remove(std::uint64_t begin) { ranges_.erase(begin); }

  /// Memory that may be read and written, 512-byte aligned and exactly so long; 0: there is none.
  std::uint64_t allocate(std::size_t bytes);
  /// Whether there was an allocation at this address.
  bool free(std::uint64_t address);

  /// Addresses without memory, for map(), in whole pages; 0: there are none.
  std::uint64_t reserve(std::size_t bytes);
  bool release(std::uint64_t begin, std::size_t bytes);
  /// Puts memory that may not be accessed yet behind a part of what was reserved. False where the
  /// addresses are not reserved or in use, or the memory is full.
  bool map(std::uint64_t begin, std::size_t bytes);
  /// `begin` and `bytes` are those of map(), as for allow().
  bool unmap(std::uint64_t begin, std::size_t bytes);
  bool allow(std::uint64_t begin, std::size_t bytes, bool readable, bool writable);

  /// Where an address lies: "byte 40 of 4096 bytes at 0x7f..., which may only be read", "8 bytes
  /// behind the end of 4096 bytes at 0x7f...", "in no memory of the device".
  std::string describe(std::uint64_t address) const;

  std::size_t capacity_bytes() const { return capacity_bytes_; }
  std::size_t free_bytes() const { return capacity_bytes_ - used_bytes_; }

 private:
  std::uint64_t take_addresses(std::size_t bytes);
  void give_addresses(std::uint64_t begin, std::size_t bytes);
  /// Whether a range lies there.
  bool is_used(std::uint64_t begin, std::size_t bytes) const;
  /// The range that is exactly this; null: none is.
  MemoryRange* find_exact(std::uint64_t begin, std::size_t bytes);

  std::size_t capacity_bytes_;
  std::size_t used_bytes_ = 0;
  std::uint64_t base_ = 0;
  std::size_t address_bytes_ = 0;
  std::map<std::uint64_t, MemoryRange> ranges_;   // by begin
  std::map<std::uint64_t, std::uint64_t> taken_;  // begins and ends of addresses in use
  std::uint64_t next_ = 0;                        // where the search for free addresses begins
};

/// Local memory that blocks have left: no GPU clears it for the next launch either.
class LeftLocal {
 public:
  /// What the threads of the block of this number have left, or NaNs.
  std::vector<std::byte> take(std::uint64_t block, std::size_t num_threads,
                              std::size_t thread_bytes) {
    const std::lock_guard lock(mutex_);
    std::vector<std::byte> bytes(num_threads * thread_bytes, std::byte{0xff});
    const std::vector<std::vector<std::byte>>& left = left_[block];
    for (std::size_t i = 0; i < std::min(num_threads, left.size()); ++i) {
      std::copy_n(left[i].begin(), std::min(thread_bytes, left[i].size()),
                  bytes.begin() + i * thread_bytes);
    }
    return bytes;
  }
  /// What lies behind `thread_bytes` of each thread stays what it was.
  void leave(std::uint64_t block, std::size_t thread_bytes, const std::vector<std::byte>& bytes) {
    const std::lock_guard lock(mutex_);
    std::vector<std::vector<std::byte>>& left = left_[block];
    for (std::size_t i = 0; i * thread_bytes < bytes.size(); ++i) {
      if (left.size() <= i) left.emplace_back();
      if (left[i].size() < thread_bytes) {
        num_bytes_ += thread_bytes - left[i].size();
        if (num_bytes_ > kMostBytes) return;
        left[i].resize(thread_bytes);
      }
      std::copy_n(bytes.begin() + i * thread_bytes, thread_bytes, left[i].begin());
    }
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    left_.clear();
    num_bytes_ = 0;
  }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;

  std::mutex mutex_;
  std::map<std::uint64_t, std::vector<std::vector<std::byte>>> left_;  // of each thread of a block
  std::size_t num_bytes_ = 0;
};

}  // namespace assay::emulator
