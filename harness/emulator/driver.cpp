// libcuda for a GPU that is not there: the functions of the driver API that cuda/driver.h names,
// under their own names, on emulator/gpu.h; tensor_map.cpp has one more. The program exports none
// of these functions, so that an installed libcuda, and the libraries that need it, call their own.
#include <cuda.h>

#include <algorithm>
#include <cstring>

#include "emulator/gpu.h"

using assay::emulator::Gpu;
using assay::emulator::LoadedKernel;
using assay::emulator::LoadedModule;
using assay::emulator::MemoryAccess;

namespace {

Gpu& gpu() { return Gpu::get(); }

template <typename T>
T* pointer(CUdeviceptr address) {
  return reinterpret_cast<T*>(address);
}

template <typename T, typename Value>
CUresult give(T* to, Value value) {
  *to = static_cast<T>(value);
  return CUDA_SUCCESS;
}

CUresult status_if(bool is_valid) { return is_valid ? gpu().status() : CUDA_ERROR_INVALID_VALUE; }

// Handles are addresses of objects.

template <typename T, typename Handle>
T& object(Handle handle) {
  return *reinterpret_cast<T*>(handle);
}
/// Of what there is only one.
template <typename Handle>
CUresult create(Handle* handle) {
  *handle = reinterpret_cast<Handle>(&gpu());
  return gpu().status();
}

bool may(CUdeviceptr address, std::size_t bytes, MemoryAccess access) {
  return gpu().memory().find(address, bytes, access) != nullptr;
}

CUresult copy(void* to, const void* from, std::size_t bytes, bool is_allowed) {
  if (!is_allowed) return CUDA_ERROR_INVALID_VALUE;
  if (gpu().status() == CUDA_SUCCESS) std::memmove(to, from, bytes);
  return gpu().status();
}

template <typename T>
CUresult fill(CUdeviceptr memory, T value, std::size_t count) {
  if (!may(memory, count * sizeof value, MemoryAccess::write)) return CUDA_ERROR_INVALID_VALUE;
  if (gpu().status() == CUDA_SUCCESS) std::fill_n(pointer<T>(memory), count, value);
  return gpu().status();
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }

CUresult cuGetErrorName(CUresult error, const char** text) {
  for (const assay::emulator::KindOfFinding& kind : assay::emulator::kFindings) {
    if (kind.error == error) return give(text, kind.error_name);
  }
#define ASSAY_NAME(name) \
  if (error == name) return give(text, #name);
  ASSAY_NAME(CUDA_ERROR_INVALID_VALUE)
  ASSAY_NAME(CUDA_ERROR_OUT_OF_MEMORY)
  ASSAY_NAME(CUDA_ERROR_INVALID_DEVICE)
  ASSAY_NAME(CUDA_ERROR_INVALID_IMAGE)
  ASSAY_NAME(CUDA_ERROR_NOT_FOUND)
  ASSAY_NAME(CUDA_ERROR_NOT_SUPPORTED)
  ASSAY_NAME(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)
  ASSAY_NAME(CUDA_ERROR_INVALID_CLUSTER_SIZE)
#undef ASSAY_NAME
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == gpu().status() ? gpu().finding().c_str() : "refused by the emulator";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) { return give(count, 1); }

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return ordinal == 0 ? give(device, 0) : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuCtxGetDevice(CUdevice* device) { return give(device, 0); }

CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  std::strncpy(name, gpu().info().name.c_str(), size);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice) {
  std::memset(uuid->bytes, 0xee, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  const assay::DeviceInfo& info = gpu().info();
  const std::pair<CUdevice_attribute, std::int64_t> values[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, info.cc / 10},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, info.cc % 10},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, info.sm_count},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, info.smem_optin_bytes},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, assay::emulator::kSmThreads},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, info.l2_bytes},
      {CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 0},
      {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1}};
  for (const auto& [known, value_of] : values) {
    if (known == attribute) return give(value, value_of);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  return give(bytes, gpu().memory().capacity_bytes());
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  gpu().retain_context();
  return create(context);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice) {
  gpu().release_context();
  return gpu().status();
}

// What only programs with libassay call, which launch on a GPU, and what is only timed.
#define ASSAY_REFUSE(name, ...) \
  CUresult name(__VA_ARGS__) { return CUDA_ERROR_NOT_SUPPORTED; }
ASSAY_REFUSE(cuCtxPushCurrent, CUcontext)
ASSAY_REFUSE(cuCtxPopCurrent, CUcontext*)
ASSAY_REFUSE(cuTensorMapReplaceAddress, CUtensorMap*, void*)
ASSAY_REFUSE(cuStreamIsCapturing, CUstream, CUstreamCaptureStatus*)
ASSAY_REFUSE(cuThreadExchangeStreamCaptureMode, CUstreamCaptureMode*)
ASSAY_REFUSE(cuEventElapsedTime, float*, CUevent, CUevent)
ASSAY_REFUSE(cuStreamBeginCapture, CUstream, CUstreamCaptureMode)
ASSAY_REFUSE(cuStreamEndCapture, CUstream, CUgraph*)
ASSAY_REFUSE(cuGraphInstantiate, CUgraphExec*, CUgraph, unsigned long long)
ASSAY_REFUSE(cuGraphLaunch, CUgraphExec, CUstream)
ASSAY_REFUSE(cuGraphExecDestroy, CUgraphExec)
ASSAY_REFUSE(cuGraphDestroy, CUgraph)
#undef ASSAY_REFUSE

CUresult cuCtxSetCurrent(CUcontext) { return gpu().status(); }
CUresult cuCtxSynchronize() { return gpu().status(); }
CUresult cuCtxResetPersistingL2Cache() { return gpu().status(); }

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return gpu().load(image, reinterpret_cast<LoadedModule**>(module));
}

CUresult cuModuleUnload(CUmodule module) {
  gpu().unload(reinterpret_cast<LoadedModule*>(module));
  return gpu().status();
}

CUresult cuModuleGetGlobal(CUdeviceptr* data, std::size_t* bytes, CUmodule module,
                           const char* name) {
  const auto& variables = object<LoadedModule>(module).module.variables;
  const auto found = variables.find(name);
  if (found == variables.end()) return CUDA_ERROR_NOT_FOUND;
  *data = found->second.address();
  *bytes = found->second.size_bytes;
  return gpu().status();
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  if (gpu().status() != CUDA_SUCCESS) return gpu().status();
  auto& kernels = object<LoadedModule>(module).kernels;
  const auto found = kernels.find(name);
  if (found == kernels.end()) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(&found->second);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  const auto& kernel = object<LoadedKernel>(function);
  if (attribute == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) {
    give(value, kernel.program->local_bytes);
  } else if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    give(value, kernel.most_dynamic_bytes);
  } else {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return gpu().status();
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  auto& kernel = object<LoadedKernel>(function);
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    const std::int64_t static_bytes = kernel.program->shared_bytes;
    if (value < 0 || value + static_bytes > gpu().info().smem_optin_bytes) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    kernel.most_dynamic_bytes = value;
  } else if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
    kernel.most_cluster_blocks = value != 0 ? 16 : 8;
  } else if (attribute != CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT || value > 100) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return gpu().status();
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function,
                                                     int block_threads, std::size_t dynamic_bytes) {
  *blocks = gpu().blocks_of_sm(object<LoadedKernel>(function), block_threads, dynamic_bytes);
  return gpu().status();
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments,
                          void**) {
  return gpu().launch(*config, object<LoadedKernel>(function), arguments);
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** arguments, void** extra) {
  const CUlaunchConfig config{grid_x,  grid_y,       grid_z, block_x, block_y,
                              block_z, shared_bytes, stream, nullptr, 0};
  return cuLaunchKernelEx(&config, function, arguments, extra);
}

// No kernel can read a texture here: the instruction is refused by its name.
CUresult cuTexObjectCreate(CUtexObject* texture, const CUDA_RESOURCE_DESC* resource,
                           const CUDA_TEXTURE_DESC*, const CUDA_RESOURCE_VIEW_DESC*) {
  *texture = resource->res.linear.devPtr;
  return gpu().status();
}

CUresult cuTexObjectDestroy(CUtexObject) { return gpu().status(); }

CUresult cuMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  *free_bytes = gpu().memory().free_bytes();
  *total_bytes = gpu().memory().capacity_bytes();
  return gpu().status();
}

CUresult cuMemAlloc(CUdeviceptr* memory, std::size_t bytes) {
  if (gpu().status() != CUDA_SUCCESS) return gpu().status();
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  *memory = gpu().memory().allocate(bytes);
  return *memory == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr memory) { return status_if(gpu().memory().free(memory)); }

CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  return give(bytes, +assay::emulator::Memory::kPageBytes);
}

CUresult cuMemAddressReserve(CUdeviceptr* begin, std::size_t bytes, std::size_t, CUdeviceptr,
                             unsigned long long) {
  *begin = gpu().memory().reserve(bytes);
  return *begin == 0 ? CUDA_ERROR_OUT_OF_MEMORY : gpu().status();
}

CUresult cuMemAddressFree(CUdeviceptr begin, std::size_t bytes) {
  return status_if(gpu().memory().release(begin, bytes));
}

// Memory is taken when it is mapped.
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp*, unsigned long long) {
  *handle = 1;
  return bytes > gpu().memory().free_bytes() ? CUDA_ERROR_OUT_OF_MEMORY : gpu().status();
}

CUresult cuMemRelease(CUmemGenericAllocationHandle) { return CUDA_SUCCESS; }

CUresult cuMemMap(CUdeviceptr begin, std::size_t bytes, std::size_t, CUmemGenericAllocationHandle,
                  unsigned long long) {
  return status_if(gpu().memory().map(begin, bytes));
}

CUresult cuMemUnmap(CUdeviceptr begin, std::size_t bytes) {
  return status_if(gpu().memory().unmap(begin, bytes));
}

CUresult cuMemSetAccess(CUdeviceptr begin, std::size_t bytes, const CUmemAccessDesc* access,
                        std::size_t) {
  const bool writable = access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const bool readable = writable || access->flags == CU_MEM_ACCESS_FLAGS_PROT_READ;
  return status_if(gpu().memory().allow(begin, bytes, readable, writable));
}

CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  CUdeviceptr address = 0;
  const CUresult result = cuMemAlloc(&address, bytes);
  *memory = pointer<void>(address);
  return result;
}

CUresult cuMemFreeHost(void* memory) { return cuMemFree(reinterpret_cast<CUdeviceptr>(memory)); }

CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned) {
  *device = reinterpret_cast<CUdeviceptr>(host);
  return gpu().status();
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
  return copy(to, pointer<void>(from), bytes, may(from, bytes, MemoryAccess::read));
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
  return copy(pointer<void>(to), from, bytes, may(to, bytes, MemoryAccess::write));
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
  return copy(pointer<void>(to), pointer<void>(from), bytes,
              may(to, bytes, MemoryAccess::write) && may(from, bytes, MemoryAccess::read));
}

CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, std::size_t count, CUstream) {
  return fill(memory, value, count);
}

CUresult cuMemsetD32Async(CUdeviceptr memory, unsigned value, std::size_t count, CUstream) {
  return fill(memory, value, count);
}

CUresult cuStreamCreate(CUstream* stream, unsigned) { return create(stream); }
CUresult cuStreamDestroy(CUstream) { return gpu().status(); }
CUresult cuStreamSynchronize(CUstream) { return gpu().status(); }
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) { return gpu().status(); }

CUresult cuEventCreate(CUevent* event, unsigned) { return create(event); }
CUresult cuEventDestroy(CUevent) { return gpu().status(); }
CUresult cuEventRecordWithFlags(CUevent, CUstream, unsigned) { return gpu().status(); }

}  // extern "C"
