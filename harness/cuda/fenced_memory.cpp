#include "cuda/fenced_memory.h"

#include <algorithm>

namespace assay {
namespace {

constexpr std::size_t kAlignment = 256;

std::size_t rounded_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

CUdevice current_device(const Driver& driver) {
  CUdevice device = 0;
  driver.cuCtxGetDevice(&device);
  return device;
}

}  // namespace

FencedMemory::FencedMemory(const Driver& driver, std::size_t bytes, Side side)
    : FencedMemory(driver) {  // so that the destructor runs when something below throws
  location_ = {CU_MEM_LOCATION_TYPE_DEVICE, current_device(driver)};
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = location_;
  std::size_t page_bytes = 0;
  driver.cuMemGetAllocationGranularity(&page_bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  const std::size_t whole_bytes = rounded_up(std::max(bytes, kAlignment), page_bytes);
  reserved_bytes_ = whole_bytes + 2 * page_bytes;
  driver.cuMemAddressReserve(&reserved_, reserved_bytes_, 0, 0, 0);
  begin_ = reserved_ + page_bytes;
  CUmemGenericAllocationHandle handle = 0;
  driver.cuMemCreate(&handle, whole_bytes, &properties, 0);
  const CUresult mapped = driver.cuMemMap.result(begin_, whole_bytes, 0, handle, 0);
  static_cast<void>(driver.cuMemRelease.result(handle));  // the mapping keeps the memory
  driver.check(mapped, "cuMemMap");
  mapped_bytes_ = whole_bytes;
  allow(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  data_ = side == Side::begin ? begin_ : begin_ + whole_bytes - rounded_up(bytes, kAlignment);
}

FencedMemory::~FencedMemory() {
  if (mapped_bytes_ > 0) static_cast<void>(driver_->cuMemUnmap.result(begin_, mapped_bytes_));
  if (reserved_ != 0)
    static_cast<void>(driver_->cuMemAddressFree.result(reserved_, reserved_bytes_));
}

void FencedMemory::forbid_writes() { allow(CU_MEM_ACCESS_FLAGS_PROT_READ); }

void FencedMemory::allow(CUmemAccess_flags access) {
  const CUmemAccessDesc description = {location_, access};
  driver_->cuMemSetAccess(begin_, mapped_bytes_, &description, 1);
}

bool has_fenced_memory(const Driver& driver) {
  int supported = 0;
  driver.cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                              current_device(driver));
  return supported != 0;
}

}  // namespace assay
