#include "cuda/handles.h"

#include <fmt/format.h>

namespace assay {

Module load_module(const Driver& driver, const std::string& image) {
  CUmodule module = nullptr;
  driver.cuModuleLoadData(&module, image.data());
  return {driver, module};
}

Stream make_stream(const Driver& driver) {
  CUstream stream = nullptr;
  driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  return {driver, stream};
}

Event make_event(const Driver& driver) {
  CUevent event = nullptr;
  driver.cuEventCreate(&event, CU_EVENT_DEFAULT);
  return {driver, event};
}

DeviceMemory allocate(const Driver& driver, std::size_t bytes) {
  CUdeviceptr memory = 0;
  const CUresult result = driver.cuMemAlloc.result(&memory, bytes);
  if (result != CUDA_SUCCESS) driver.fail(result, fmt::format("cuMemAlloc of {} bytes", bytes));
  return {driver, memory};
}

PinnedMemory allocate_pinned(const Driver& driver, std::size_t bytes) {
  void* memory = nullptr;
  driver.cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_DEVICEMAP);
  return {driver, memory};
}

CUdeviceptr device_pointer(const Driver& driver, const PinnedMemory& memory) {
  CUdeviceptr pointer = 0;
  driver.cuMemHostGetDevicePointer(&pointer, memory.get(), 0);
  return pointer;
}

Context::Context(const Driver& driver, int index) : driver_(&driver) {
  int count = 0;
  driver.cuDeviceGetCount(&count);
  if (index < 0 || index >= count) {
    throw Error("no GPU {}: the driver reports {} of them, counted from 0", index, count);
  }
  driver.cuDeviceGet(&device_, index);
  driver.cuDevicePrimaryCtxRetain(&context_, device_);
  const CUresult result = driver.cuCtxSetCurrent.result(context_);
  if (result != CUDA_SUCCESS) {
    static_cast<void>(driver.cuDevicePrimaryCtxRelease.result(device_));
    driver.fail(result, "cuCtxSetCurrent");
  }
}

Context::~Context() { static_cast<void>(driver_->cuDevicePrimaryCtxRelease.result(device_)); }

}  // namespace assay
