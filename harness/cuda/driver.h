#pragma once

#include <cuda.h>

#include <optional>
#include <string>

#include "base/error.h"
#include "base/library.h"

// Every driver function in use.
#define ASSAY_DRIVER_FUNCTIONS(X)                \
  X(cuInit)                                      \
  X(cuGetErrorName)                              \
  X(cuGetErrorString)                            \
  X(cuDeviceGet)                                 \
  X(cuDeviceGetCount)                            \
  X(cuDeviceGetName)                             \
  X(cuDeviceGetUuid)                             \
  X(cuDeviceGetAttribute)                        \
  X(cuDeviceTotalMem)                            \
  X(cuDevicePrimaryCtxRetain)                    \
  X(cuDevicePrimaryCtxRelease)                   \
  X(cuCtxSetCurrent)                             \
  X(cuCtxPushCurrent)                            \
  X(cuCtxPopCurrent)                             \
  X(cuCtxGetDevice)                              \
  X(cuCtxSynchronize)                            \
  X(cuCtxResetPersistingL2Cache)                 \
  X(cuModuleLoadData)                            \
  X(cuModuleUnload)                              \
  X(cuModuleGetFunction)                         \
  X(cuModuleGetGlobal)                           \
  X(cuFuncGetAttribute)                          \
  X(cuFuncSetAttribute)                          \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuLaunchKernel)                              \
  X(cuLaunchKernelEx)                            \
  X(cuTensorMapEncodeTiled)                      \
  X(cuTensorMapReplaceAddress)                   \
  X(cuTexObjectCreate)                           \
  X(cuTexObjectDestroy)                          \
  X(cuMemGetInfo)                                \
  X(cuMemAlloc)                                  \
  X(cuMemFree)                                   \
  X(cuMemGetAllocationGranularity)               \
  X(cuMemAddressReserve)                         \
  X(cuMemAddressFree)                            \
  X(cuMemCreate)                                 \
  X(cuMemRelease)                                \
  X(cuMemMap)                                    \
  X(cuMemUnmap)                                  \
  X(cuMemSetAccess)                              \
  X(cuMemHostAlloc)                              \
  X(cuMemFreeHost)                               \
  X(cuMemHostGetDevicePointer)                   \
  X(cuMemcpyDtoHAsync)                           \
  X(cuMemcpyHtoDAsync)                           \
  X(cuMemcpyDtoDAsync)                           \
  X(cuMemsetD8Async)                             \
  X(cuMemsetD32Async)                            \
  X(cuStreamCreate)                              \
  X(cuStreamDestroy)                             \
  X(cuStreamSynchronize)                         \
  X(cuStreamWaitEvent)                           \
  X(cuEventCreate)                               \
  X(cuEventDestroy)                              \
  X(cuEventRecordWithFlags)                      \
  X(cuStreamBeginCapture)                        \
  X(cuStreamEndCapture)                          \
  X(cuStreamIsCapturing)                         \
  X(cuThreadExchangeStreamCaptureMode)           \
  X(cuGraphInstantiate)                          \
  X(cuGraphLaunch)                               \
  X(cuGraphExecDestroy)                          \
  X(cuGraphDestroy)

namespace assay {

/// A driver call that failed: what() is "CALL: CUDA_ERROR_NAME, description".
class CudaError : public Error {
 public:
  CudaError(CUresult code, const std::string& message) : Error(message), code_(code) {}
  CUresult code() const { return code_; }

 private:
  CUresult code_;
};

/// libcuda's functions. One per process, and it outlives every handle made with it.
struct Driver {
  using Self = Driver;
  struct Emulated {};

  /// Loads libcuda and initialises it. Throws Error with a sentence (no driver, no GPU).
  Driver();
  /// Takes the emulator's functions.
  explicit Driver(Emulated);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Throws CudaError unless `result` is success; `call` says what was attempted.
  void check(CUresult result, const char* call) const {
    if (result != CUDA_SUCCESS) fail(result, call);
  }
  [[noreturn]] void fail(CUresult result, const std::string& call) const;
  /// Whether kernels run on the emulator: no library knows such a GPU, its memory is the host's,
  /// and its times mean nothing.
  bool is_emulated() const { return !opened_; }

  ASSAY_DRIVER_FUNCTIONS(ASSAY_MEMBER)
  /// The export without a suffix. Drivers before 12.8 lack cuEventElapsedTime_v2, which differs
  /// only in how it reports pending errors.
  CUresult (*event_elapsed_time)(float*, CUevent, CUevent) = nullptr;

 private:
  void initialise() const;

  std::optional<Library> opened_;  // none: the functions are the emulator's
};

/// Whether the error leaves the context unusable: only a new process can go on.
bool is_sticky(CUresult code);

}  // namespace assay
