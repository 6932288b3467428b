#include "support/arena.h"

#include <utility>

namespace assay {
namespace {

constexpr std::size_t kAlignment = 1024;  // of TMA's 128-byte swizzle
// Wide enough to catch a tile of 128 rows of 512 bytes that is written one tile too far.
constexpr std::size_t kGuardBytes = 64 * 1024;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

std::size_t guarded_bytes(std::size_t bytes) { return kGuardBytes + aligned(bytes) + kGuardBytes; }

GuardedBuffer place_buffer(const std::string& name, std::size_t bytes, CUdeviceptr begin) {
  return {name, begin + kGuardBytes, bytes, begin, begin + guarded_bytes(bytes)};
}

void guard_whole_page(GuardedBuffer& last, CUdeviceptr begin) {
  last.end = begin + whole_pages(last.end - begin);
}

void Arena::reserve(std::size_t bytes) {
  if (bytes <= capacity_) return;
  release();  // first, because the old and the new memory together may not fit
  memory_ = allocate(*driver_, whole_pages(bytes));
  if (memory_.get() % kAlignment != 0)
    memory_ = allocate(*driver_, whole_pages(bytes) + kAlignment);
  capacity_ = bytes;
}

void Arena::release() {
  memory_ = DeviceMemory();
  capacity_ = 0;
}

DeviceMemory Arena::take() {
  capacity_ = 0;
  return std::move(memory_);
}

CUdeviceptr Arena::begin() const { return aligned(memory_.get()); }

void poison(const SupportKernels& support, CUdeviceptr begin, std::size_t bytes) {
  if (bytes == 0) return;
  const Driver& driver = support.driver();
  driver.check(driver.cuMemsetD32Async.result(begin, kPoisonWord, bytes / 4, support.stream()),
               "cuMemsetD32Async of the poison");
}

GuardZones::GuardZones(const SupportKernels& support, const std::vector<GuardedBuffer>& buffers)
    : support_(&support), num_zones_(static_cast<std::int64_t>(2 * buffers.size())) {
  std::vector<GuardZone> zones;
  for (const GuardedBuffer& buffer : buffers) {
    zones.push_back({buffer.begin, buffer.data});
    zones.push_back({buffer.data + buffer.bytes, buffer.end});
  }
  if (zones.empty()) return;
  const std::size_t bytes = zones.size() * sizeof(GuardZone);
  table_ = allocate(support.driver(), bytes);
  support.upload(table_.get(), zones.data(), bytes);
}

void GuardZones::poison() const {
  if (num_zones_ > 0) support_->poison_zones(table_.get(), num_zones_);
}

void GuardZones::check(CUdeviceptr found) const {
  if (num_zones_ > 0) support_->guard_zones(table_.get(), num_zones_, found);
}

}  // namespace assay
