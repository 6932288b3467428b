#include "emulator/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/error.h"

namespace assay::emulator {
namespace {

// Eight times the memory, so that what was freed rests for long.
constexpr std::size_t kAddressesPerByte = 8;
constexpr std::size_t kAlignment = 512;  // as cuMemAlloc has on an H200

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void* host(std::uint64_t address) { return reinterpret_cast<void*>(address); }

/// Addresses that cost nothing until they are touched. Throws Error.
std::uint64_t reserve_on_host(std::size_t bytes, int protection) {
  void* const pages =
      ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    throw Error(
        fmt::format("the emulator needs {} MiB of addresses, which the system refuses; "
                    "see ulimit -v",
                    bytes >> 20));
  }
  return reinterpret_cast<std::uint64_t>(pages);
}

const char* rights(const MemoryRange& range) {
  if (range.readable) return range.writable ? "may be read and written" : "may only be read";
  return range.writable ? "may only be written" : "may not be accessed";
}

}  // namespace

Memory::Memory(std::size_t capacity_bytes)
    : capacity_bytes_(round_up(capacity_bytes, kPageBytes)),
      address_bytes_(kAddressesPerByte * capacity_bytes_) {
  if (capacity_bytes_ == 0) return;
  base_ = reserve_on_host(address_bytes_, PROT_NONE);
  pages_ = reinterpret_cast<Index*>(
      reserve_on_host(address_bytes_ / kPageBytes * sizeof(Index), PROT_READ | PROT_WRITE));
  next_ = base_;
}

Memory::~Memory() {
  if (capacity_bytes_ == 0) return;
  ::munmap(host(base_), address_bytes_);
  ::munmap(pages_, address_bytes_ / kPageBytes * sizeof(Index));
}

std::uint64_t Memory::allocate(std::size_t bytes) {
  if (bytes == 0 || bytes > free_bytes()) return 0;
  // A multiple of the alignment at the page's end, so that what follows is nobody's.
  const std::size_t room_bytes = round_up(bytes, kPageBytes);
  const std::uint64_t begin = take_addresses(room_bytes);
  if (begin == 0) return 0;
  const std::uint64_t address = begin + (room_bytes - round_up(bytes, kAlignment));
  ::mprotect(host(begin), room_bytes, PROT_READ | PROT_WRITE);
  add_range({address, address + bytes});
  used_bytes_ += room_bytes;
  return address;
}

bool Memory::free(std::uint64_t address) {
  const Index index = address - base_ < address_bytes_ ? pages_[(address - base_) / kPageBytes] : 0;
  const MemoryRange range = ranges_[index];
  const std::uint64_t begin = address / kPageBytes * kPageBytes;
  const std::size_t room_bytes = round_up(range.end, kPageBytes) - begin;
  const auto taken = taken_.find(begin);
  if (index == 0 || range.begin != address || taken == taken_.end() ||
      taken->second != begin + room_bytes) {
    return false;
  }
  remove_range(index);
  give_addresses(begin, room_bytes);
  used_bytes_ -= room_bytes;
  return true;
}

std::uint64_t Memory::reserve(std::size_t bytes) {
  return bytes == 0 || bytes % kPageBytes != 0 ? 0 : take_addresses(bytes);
}

bool Memory::release(std::uint64_t begin, std::size_t bytes) {
  const auto found = taken_.find(begin);
  if (found == taken_.end() || found->second != begin + bytes) return false;
  const Index* const first = pages_ + (begin - base_) / kPageBytes;
  if (std::any_of(first, first + bytes / kPageBytes, [](Index index) { return index != 0; })) {
    return false;
  }
  give_addresses(begin, bytes);
  return true;
}

bool Memory::map(std::uint64_t begin, std::size_t bytes) {
  const auto after = taken_.upper_bound(begin);
  if (bytes == 0 || begin % kPageBytes != 0 || bytes % kPageBytes != 0) return false;
  if (after == taken_.begin() || std::prev(after)->second < begin + bytes) return false;
  const Index* const first = pages_ + (begin - base_) / kPageBytes;
  const auto is_used = [](Index index) { return index != 0; };
  if (bytes > free_bytes() || std::any_of(first, first + bytes / kPageBytes, is_used)) return false;
  add_range({begin, begin + bytes, false, false});
  used_bytes_ += bytes;
  return true;
}

bool Memory::unmap(std::uint64_t begin, std::size_t bytes) {
  const Index index = find_range(begin, bytes);
  if (index == 0) return false;
  remove_range(index);
  ::madvise(host(begin), bytes, MADV_DONTNEED);
  ::mprotect(host(begin), bytes, PROT_NONE);
  used_bytes_ -= bytes;
  return true;
}

bool Memory::allow(std::uint64_t begin, std::size_t bytes, bool readable, bool writable) {
  const Index index = find_range(begin, bytes);
  if (index == 0) return false;
  ranges_[index].readable = readable;
  ranges_[index].writable = writable;
  ::mprotect(host(begin), bytes, (readable ? PROT_READ : 0) | (writable ? PROT_WRITE : 0));
  return true;
}

void Memory::add(const MemoryRange& range) {
  const auto is_before = [](const MemoryRange& a, const MemoryRange& b) {
    return a.begin < b.begin;
  };
  added_.insert(std::upper_bound(added_.begin(), added_.end(), range, is_before), range);
}

void Memory::remove(std::uint64_t begin) {
  std::erase_if(added_, [&](const MemoryRange& range) { return range.begin == begin; });
}

const MemoryRange* Memory::find_added(std::uint64_t address) const {
  const auto after = std::upper_bound(
      added_.begin(), added_.end(), address,
      [](std::uint64_t value, const MemoryRange& range) { return value < range.begin; });
  return after == added_.begin() ? nullptr : &*std::prev(after);
}

std::string Memory::describe(std::uint64_t address) const {
  const MemoryRange* nearest = nullptr;
  std::uint64_t distance = 0;
  std::vector<const MemoryRange*> all;
  for (const auto* ranges : {&ranges_, &added_}) {
    for (const MemoryRange& range : *ranges) all.push_back(&range);
  }
  for (const MemoryRange* const each : all) {
    const MemoryRange& range = *each;
    if (range.end == 0) continue;
    if (address >= range.begin && address < range.end) {
      return fmt::format("byte {} of {} bytes at {:#x}, which {}", address - range.begin,
                         range.end - range.begin, range.begin, rights(range));
    }
    const std::uint64_t away =
        address < range.begin ? range.begin - address : address - range.end + 1;
    if (nearest != nullptr && away >= distance) continue;
    nearest = &range;
    distance = away;
  }
  // Farther away it is rather a wild address than a wrong index.
  constexpr std::uint64_t kFarBytes = std::uint64_t{64} << 20;
  if (nearest == nullptr || distance > kFarBytes) return "in no memory of the device";
  const bool is_before = address < nearest->begin;
  return fmt::format("{} bytes {} {} bytes at {:#x}", is_before ? distance : distance - 1,
                     is_before ? "before" : "behind the end of", nearest->end - nearest->begin,
                     nearest->begin);
}

/// Whole pages with a page of nobody behind them.
std::uint64_t Memory::take_addresses(std::size_t bytes) {
  const std::uint64_t end = base_ + address_bytes_;
  if (bytes > address_bytes_ - kPageBytes) return 0;
  const std::uint64_t room_bytes = bytes + kPageBytes;
  // The first gap at or after `next_`; then, once, from the start.
  for (std::uint64_t at : {next_, base_}) {
    auto after = taken_.upper_bound(at);
    if (after != taken_.begin()) at = std::max(at, std::prev(after)->second + kPageBytes);
    while (after != taken_.end() && after->first < at + room_bytes) {
      at = after->second + kPageBytes;
      ++after;
    }
    if (at + room_bytes > end) continue;
    taken_[at] = at + bytes;
    next_ = at + room_bytes;
    return at;
  }
  return 0;
}

void Memory::give_addresses(std::uint64_t begin, std::size_t bytes) {
  ::madvise(host(begin), bytes, MADV_DONTNEED);
  ::mprotect(host(begin), bytes, PROT_NONE);
  taken_.erase(begin);
}

/// The range that is exactly this; 0: none is.
Memory::Index Memory::find_range(std::uint64_t begin, std::size_t bytes) const {
  if (begin - base_ >= address_bytes_) return 0;
  const Index index = pages_[(begin - base_) / kPageBytes];
  return ranges_[index].begin == begin && ranges_[index].end == begin + bytes ? index : 0;
}

void Memory::add_range(const MemoryRange& range) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<Index>(ranges_.size()));
    ranges_.emplace_back();
  }
  const Index index = unused_.back();
  unused_.pop_back();
  ranges_[index] = range;
  std::fill(pages_ + (range.begin - base_) / kPageBytes,
            pages_ + (range.end - 1 - base_) / kPageBytes + 1, index);
}

void Memory::remove_range(Index index) {
  const MemoryRange range = ranges_[index];
  std::fill(pages_ + (range.begin - base_) / kPageBytes,
            pages_ + (range.end - 1 - base_) / kPageBytes + 1, Index{0});
  ranges_[index] = {};
  unused_.push_back(index);
}

}  // namespace assay::emulator
