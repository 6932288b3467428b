#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace assay::emulator {

enum class MemoryAccess { read, write };

/// A range of addresses with the same rights.
struct MemoryRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool readable = true;
  bool writable = true;
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

  /// Of so many bytes, beside what add() names. Throws Error when the host has no room for the
  /// addresses.
  explicit Memory(std::size_t capacity_bytes = 0);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// The range that all of the bytes lie in, if they may be accessed so; else null. find() is
  /// called for each access of a kernel, and looks an address up in two tables.
  const MemoryRange* find(std::uint64_t address, std::size_t bytes, MemoryAccess access) const {
    const std::uint64_t offset = address - base_;
    const MemoryRange* const range =
        offset < address_bytes_ ? &ranges_[pages_[offset / kPageBytes]] : find_added(address);
    if (range == nullptr || address < range->begin || address >= range->end ||
        bytes > range->end - address) {
      return nullptr;
    }
    return (access == MemoryAccess::read ? range->readable : range->writable) ? range : nullptr;
  }

  /// Memory of this process that is the device's until remove(), such as a module's variables.
  void add(const MemoryRange& range);
  void remove(std::uint64_t begin);

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
  using Index = std::uint32_t;  // into ranges_; 0 is a range of nothing

  const MemoryRange* find_added(std::uint64_t address) const;
  std::uint64_t take_addresses(std::size_t bytes);
  void give_addresses(std::uint64_t begin, std::size_t bytes);
  Index find_range(std::uint64_t begin, std::size_t bytes) const;
  void add_range(const MemoryRange& range);
  void remove_range(Index index);

  std::size_t capacity_bytes_;
  std::size_t used_bytes_ = 0;
  std::uint64_t base_ = 0;
  std::size_t address_bytes_ = 0;
  Index* pages_ = nullptr;  // of each page, the range
  std::vector<MemoryRange> ranges_ = std::vector<MemoryRange>(1);
  std::vector<Index> unused_;                     // of ranges_
  std::vector<MemoryRange> added_;                // by address
  std::map<std::uint64_t, std::uint64_t> taken_;  // begins and ends of addresses in use
  std::uint64_t next_ = 0;                        // where the search for free addresses begins
};

}  // namespace assay::emulator
