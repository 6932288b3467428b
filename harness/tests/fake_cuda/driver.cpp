// The driver API's functions that harness/cuda loads, over fake::Machine. Built as libcuda.so.1.
#include <cuda.h>
#include <cxxabi.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>

#include "machine.h"

using fake::Machine;

namespace {

constexpr std::size_t kPageBytes = 4096;

Machine& machine() { return Machine::get(); }

template <typename T>
T* pointer(CUdeviceptr address) {
  return reinterpret_cast<T*>(address);
}

constexpr int kSmThreads = 2048, kSmemBytes = 232448;
double capture_begin_ns = 0;
std::atomic<bool> capturing = false;

CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

/// Kernels run one after the other, whichever threads launch them.
CUresult run(CUfunction function, unsigned grid, unsigned block, void** arguments) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  return machine().launch(*reinterpret_cast<std::string*>(function), arguments, grid, block);
}

template <typename T>
CUresult give(T* to, std::type_identity_t<T> value) {
  *to = value;
  return machine().status();
}

/// Events and graphs are times.
template <typename Handle>
double& time_of(Handle handle) {
  return *reinterpret_cast<double*>(handle);
}
template <typename Handle>
CUresult destroyed(Handle handle) {
  delete &time_of(handle);
  return machine().status();
}

/// Moves the clock on by the time that `bytes` take to move.
CUresult moved(std::size_t bytes) {
  machine().advance(1000 + static_cast<double>(bytes) / fake::kBytesPerNs);
  return machine().status();
}

/// `vector_add` of the symbol of `ns::vector_add<float, 64>`.
std::string name_of(const char* symbol) {
  if (std::strncmp(symbol, "_Z", 2) != 0) return symbol;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol, nullptr, nullptr, nullptr), &std::free);
  if (!text) return symbol;
  std::string name(text.get());
  name.resize(std::min(name.find_first_of("<("), name.size()));
  return name.substr(name.find_last_of(" :") + 1);  // npos + 1 is 0
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return machine().init(); }

CUresult cuGetErrorName(CUresult error, const char** text) {
#define NAMED(name) \
  { name, #name }
  static const std::map<CUresult, const char*> names = {NAMED(CUDA_ERROR_ILLEGAL_ADDRESS),
                                                        NAMED(CUDA_ERROR_LAUNCH_FAILED),
                                                        NAMED(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES),
                                                        NAMED(CUDA_ERROR_OUT_OF_MEMORY),
                                                        NAMED(CUDA_ERROR_NOT_FOUND),
                                                        NAMED(CUDA_ERROR_UNKNOWN)};
#undef NAMED
  const auto found = names.find(error);
  if (found == names.end()) return CUDA_ERROR_INVALID_VALUE;
  *text = found->second;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = "from the stand-in";
  return error == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  *version = machine().script().number("cuda", 13000);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  *count = machine().num_gpus();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal + machine().first_gpu();
  return ordinal < machine().num_gpus() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  std::strncpy(name, machine().script().has("slice") ? "Fake GPU MIG 1g.18gb" : "Fake GPU",
               static_cast<std::size_t>(size));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  std::memset(uuid->bytes, 0xfa - device, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  static const std::map<CUdevice_attribute, int> values = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, kSmemBytes},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, kSmThreads},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 1 << 20},  // small: the flush buffer is a multiple of it
      {CU_DEVICE_ATTRIBUTE_MPS_ENABLED, machine().script().has("mps") ? 1 : 0}};
  const auto found = values.find(attribute);
  *value = found == values.end() ? 1 : found->second;
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{80} << 30;  // though there is less: tests fill the memory
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  return give(context, reinterpret_cast<CUcontext>(&machine()));
}

CUresult cuDevicePrimaryCtxRelease(CUdevice) { return machine().status(); }
CUresult cuCtxSetCurrent(CUcontext) { return machine().status(); }
CUresult cuCtxPushCurrent(CUcontext) { return machine().status(); }
CUresult cuCtxPopCurrent(CUcontext*) { return machine().status(); }
CUresult cuCtxSynchronize() { return machine().synchronise(); }
CUresult cuCtxResetPersistingL2Cache() { return machine().status(); }

CUresult cuModuleLoadData(CUmodule* module, const void*) {
  return give(module, reinterpret_cast<CUmodule>(&machine()));
}

CUresult cuModuleUnload(CUmodule) { return machine().status(); }

// Its kernels use no variables, but a cubin may have some.
CUresult cuModuleGetGlobal(CUdeviceptr* data, std::size_t* bytes, CUmodule, const char*) {
  alignas(8) static std::array<unsigned char, std::size_t{1} << 20> variables;
  *data = address(variables.data());
  *bytes = variables.size();
  return machine().status();
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* symbol) {
  if (machine().status() != CUDA_SUCCESS) return machine().status();
  const std::string name = name_of(symbol);
  if (fake::find_kernel(name) == nullptr && !fake::is_launch_fault(name)) {
    return CUDA_ERROR_NOT_FOUND;
  }
  static std::set<std::string> names;  // which never move
  *function = reinterpret_cast<CUfunction>(const_cast<std::string*>(&*names.insert(name).first));
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int block_threads,
                                                     size_t) {
  return give(blocks, kSmThreads / block_threads);
}

// As for a kernel without static shared memory.
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) {
  return give(value, 48 << 10);
}

CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute attribute, int value) {
  const bool is_carveout = attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || is_carveout) {
    if (value > (is_carveout ? 100 : kSmemBytes)) return CUDA_ERROR_INVALID_VALUE;
  }
  return machine().status();
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned, CUstream,
                        void** arguments, void**) {
  return run(function, grid_x * grid_y * grid_z, block_x * block_y * block_z, arguments);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments,
                          void**) {
  return run(function, config->gridDimX * config->gridDimY * config->gridDimZ,
             config->blockDimX * config->blockDimY * config->blockDimZ, arguments);
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* data, const cuuint64_t* extents, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t*, CUtensorMapInterleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill) {
  fake::TensorMap written{
      reinterpret_cast<std::uint64_t>(data), rank, {}, strides[0], {}, swizzle, type};
  std::copy_n(extents, std::min(rank, 2u), written.extents);
  std::copy_n(box, std::min(rank, 2u), written.box);
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &written, sizeof written);
  return machine().status();
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* data) {
  const auto value = reinterpret_cast<std::uint64_t>(data);
  static_assert(offsetof(fake::TensorMap, address) == 0);
  std::memcpy(map, &value, sizeof value);
  return machine().status();
}

// The address with its highest bit set: no pointer, as a real texture object is none.
CUresult cuTexObjectCreate(CUtexObject* object, const CUDA_RESOURCE_DESC* resource,
                           const CUDA_TEXTURE_DESC*, const CUDA_RESOURCE_VIEW_DESC*) {
  constexpr CUdeviceptr kAlignment = 512;
  *object = resource->res.linear.devPtr | fake::kTextureBit;
  if (resource->res.linear.devPtr % kAlignment != 0) return CUDA_ERROR_INVALID_VALUE;
  return machine().status();
}

CUresult cuTexObjectDestroy(CUtexObject) { return machine().status(); }

CUresult cuMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  *free_bytes = machine().free_bytes();
  *total_bytes = machine().free_bytes();
  return machine().status();
}

CUresult cuMemAlloc(CUdeviceptr* memory, std::size_t bytes) {
  void* block = nullptr;
  const CUresult result = machine().allocate(bytes, &block);
  *memory = address(block);
  return result;
}

CUresult cuMemFree(CUdeviceptr memory) { return machine().free(pointer<void>(memory)); }

// Mapped memory is all of what was reserved, without its neighbours. A touch of these ends the
// worker.
CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *bytes = kPageBytes;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* begin, std::size_t bytes, std::size_t, CUdeviceptr,
                             unsigned long long) {
  void* const pages = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *begin = address(pages);
  return pages == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr begin, std::size_t bytes) {
  return munmap(pointer<void>(begin), bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t, const CUmemAllocationProp*,
                     unsigned long long) {
  return give(handle, 1);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle) { return CUDA_SUCCESS; }

CUresult cuMemMap(CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle,
                  unsigned long long) {
  return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr begin, std::size_t bytes) {
  return mprotect(pointer<void>(begin), bytes, PROT_NONE) == 0 ? CUDA_SUCCESS
                                                               : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemSetAccess(CUdeviceptr begin, std::size_t bytes, const CUmemAccessDesc* access,
                        std::size_t) {
  const int write = access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? PROT_WRITE : 0;
  return mprotect(pointer<void>(begin), bytes, PROT_READ | write) == 0 ? CUDA_SUCCESS
                                                                       : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return machine().allocate(bytes, memory);
}

CUresult cuMemFreeHost(void* memory) { return machine().free(memory); }

CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned) {
  return give(device, address(host));
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
  if (machine().status() == CUDA_SUCCESS) std::memcpy(to, pointer<void>(from), bytes);
  return moved(bytes);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
  if (machine().status() == CUDA_SUCCESS) std::memcpy(pointer<void>(to), from, bytes);
  return moved(bytes);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
  if (machine().status() == CUDA_SUCCESS) {
    std::memmove(pointer<void>(to), pointer<void>(from), bytes);
  }
  return moved(2 * bytes);
}

CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, std::size_t count, CUstream) {
  if (machine().status() == CUDA_SUCCESS) std::memset(pointer<void>(memory), value, count);
  return moved(count);
}

CUresult cuMemsetD32Async(CUdeviceptr memory, unsigned value, std::size_t count, CUstream) {
  if (machine().status() == CUDA_SUCCESS) {
    for (std::size_t i = 0; i < count; ++i) pointer<unsigned>(memory)[i] = value;
  }
  return moved(4 * count);
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  return give(stream, reinterpret_cast<CUstream>(&machine()));
}

CUresult cuStreamDestroy(CUstream) { return machine().status(); }
CUresult cuStreamSynchronize(CUstream) { return machine().synchronise(); }

CUresult cuEventCreate(CUevent* event, unsigned) {
  return give(event, reinterpret_cast<CUevent>(new double(0)));
}

CUresult cuEventDestroy(CUevent event) { return destroyed(event); }

CUresult cuEventRecordWithFlags(CUevent event, CUstream, unsigned) {
  time_of(event) = machine().now_ns();
  return machine().status();
}

CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) { return machine().status(); }

// Work runs as soon as it is enqueued, also while it is captured. A graph is the time that this
// took, and launching it takes 9/10 of it and does nothing else.
CUresult cuStreamBeginCapture(CUstream, CUstreamCaptureMode) {
  capturing = true;
  capture_begin_ns = machine().now_ns();
  return machine().status();
}

CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  return give(status, capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  static thread_local CUstreamCaptureMode of_thread = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(*mode, of_thread);
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream, CUgraph* graph) {
  capturing = false;
  if (machine().script().has("no_capture")) return CUDA_ERROR_UNKNOWN;
  *graph = reinterpret_cast<CUgraph>(new double(machine().now_ns() - capture_begin_ns));
  return machine().status();
}

CUresult cuGraphInstantiate(CUgraphExec* instance, CUgraph graph, unsigned long long) {
  return give(instance, reinterpret_cast<CUgraphExec>(new double(time_of(graph))));
}

CUresult cuGraphLaunch(CUgraphExec instance, CUstream) {
  machine().advance(0.9 * time_of(instance));
  return machine().status();
}

CUresult cuGraphExecDestroy(CUgraphExec instance) { return destroyed(instance); }

CUresult cuGraphDestroy(CUgraph graph) { return destroyed(graph); }

// Defined without cuda.h's macro, because the loader asks for this very name.
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* ms, CUevent begin, CUevent end) {
  return give(ms, static_cast<float>((time_of(end) - time_of(begin)) * 1e-6));
}

}  // extern "C"
