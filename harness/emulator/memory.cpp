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

const char* rights(const MemoryRange& range) {
  if (range.readable) return range.writable ? "may be read and written" : "may only be read";
  return range.writable ? "may only be written" : "may not be accessed";
}

}  // namespace

Memory::Memory(std::size_t capacity_bytes)
    : capacity_bytes_(round_up(capacity_bytes, kPageBytes)),
      address_bytes_(kAddressesPerByte * capacity_bytes_) {
  if (capacity_bytes_ == 0) return;
  // Addresses that cost nothing until they are touched.
  void* const pages = ::mmap(nullptr, address_bytes_, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    throw Error(
        fmt::format("the emulator needs {} MiB of addresses, which the system refuses; "
                    "see ulimit -v",
                    address_bytes_ >> 20));
  }
  next_ = base_ = reinterpret_cast<std::uint64_t>(pages);
}

Memory::~Memory() {
  if (capacity_bytes_ != 0) ::munmap(host(base_), address_bytes_);
}

const MemoryRange* Memory::find(std::uint64_t address, std::size_t bytes,
                                MemoryAccess access) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  const MemoryRange& range = std::prev(after)->second;
  if (address >= range.end || bytes > range.end - address) return nullptr;
  return (access == MemoryAccess::read ? range.readable : range.writable) ? &range : nullptr;
}

std::uint64_t Memory::allocate(std::size_t bytes) {
  if (bytes == 0 || bytes > free_bytes()) return 0;
  // A multiple of the alignment at the page's end, so that what follows is nobody's.
  const std::size_t room_bytes = round_up(bytes, kPageBytes);
  const std::uint64_t begin = take_addresses(room_bytes);
  if (begin == 0) return 0;
  const std::uint64_t address = begin + (room_bytes - round_up(bytes, kAlignment));
  ::mprotect(host(begin), room_bytes, PROT_READ | PROT_WRITE);
  add({address, address + bytes});
  used_bytes_ += room_bytes;
  return address;
}

bool Memory::free(std::uint64_t address) {
  const auto range = ranges_.find(address);
  if (range == ranges_.end()) return false;
  const std::uint64_t begin = address / kPageBytes * kPageBytes;
  const std::size_t room_bytes = round_up(range->second.end, kPageBytes) - begin;
  const auto taken = taken_.find(begin);
  if (taken == taken_.end() || taken->second != begin + room_bytes) return false;
  ranges_.erase(range);
  give_addresses(begin, room_bytes);
  used_bytes_ -= room_bytes;
  return true;
}

std::uint64_t Memory::reserve(std::size_t bytes) {
  return bytes == 0 || bytes % kPageBytes != 0 ? 0 : take_addresses(bytes);
}

bool Memory::release(std::uint64_t begin, std::size_t bytes) {
  const auto found = taken_.find(begin);
  if (found == taken_.end() || found->second != begin + bytes || is_used(begin, bytes)) {
    return false;
  }
  give_addresses(begin, bytes);
  return true;
}

bool Memory::map(std::uint64_t begin, std::size_t bytes) {
  const auto after = taken_.upper_bound(begin);
  if (bytes == 0 || begin % kPageBytes != 0 || bytes % kPageBytes != 0) return false;
  if (after == taken_.begin() || std::prev(after)->second < begin + bytes) return false;
  if (bytes > free_bytes() || is_used(begin, bytes)) return false;
  add({begin, begin + bytes, false, false});
  used_bytes_ += bytes;
  return true;
}

bool Memory::unmap(std::uint64_t begin, std::size_t bytes) {
  if (find_exact(begin, bytes) == nullptr) return false;
  remove(begin);
  ::madvise(host(begin), bytes, MADV_DONTNEED);
  ::mprotect(host(begin), bytes, PROT_NONE);
  used_bytes_ -= bytes;
  return true;
}

bool Memory::allow(std::uint64_t begin, std::size_t bytes, bool readable, bool writable) {
  MemoryRange* const range = find_exact(begin, bytes);
  if (range == nullptr) return false;
  range->readable = readable;
  range->writable = writable;
  ::mprotect(host(begin), bytes, (readable ? PROT_READ : 0) | (writable ? PROT_WRITE : 0));
  return true;
}

bool Memory::is_used(std::uint64_t begin, std::size_t bytes) const {
  const auto after = ranges_.lower_bound(begin + bytes);
  return after != ranges_.begin() && std::prev(after)->second.end > begin;
}

MemoryRange* Memory::find_exact(std::uint64_t begin, std::size_t bytes) {
  const auto found = ranges_.find(begin);
  return found != ranges_.end() && found->second.end == begin + bytes ? &found->second : nullptr;
}

std::string Memory::describe(std::uint64_t address) const {
  const MemoryRange* nearest = nullptr;
  std::uint64_t distance = 0;
  for (const auto& [begin, range] : ranges_) {
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

}  // namespace assay::emulator
