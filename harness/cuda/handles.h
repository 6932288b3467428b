#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "cuda/driver.h"

namespace assay {

/// A driver object that is freed by one of Driver's functions. Move-only. Freeing is silent: after
/// a sticky error every free fails, and the error that mattered has already been reported.
template <typename Handle, auto Free>
class Owned {
 public:
  Owned() = default;
  Owned(const Driver& driver, Handle handle) : driver_(&driver), handle_(handle) {}
  Owned(Owned&& other) noexcept
      : driver_(other.driver_), handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != Handle{}) static_cast<void>((driver_->*Free).result(handle_));
  }

  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Handle{}; }

 private:
  const Driver* driver_ = nullptr;
  Handle handle_{};
};

using Module = Owned<CUmodule, &Driver::cuModuleUnload>;
using Stream = Owned<CUstream, &Driver::cuStreamDestroy>;
using Event = Owned<CUevent, &Driver::cuEventDestroy>;
using Graph = Owned<CUgraph, &Driver::cuGraphDestroy>;
using GraphInstance = Owned<CUgraphExec, &Driver::cuGraphExecDestroy>;
using DeviceMemory = Owned<CUdeviceptr, &Driver::cuMemFree>;
using Texture = Owned<CUtexObject, &Driver::cuTexObjectDestroy>;
using PinnedMemory = Owned<void*, &Driver::cuMemFreeHost>;

/// All throw CudaError.
Module load_module(const Driver& driver, const std::string& image);
Stream make_stream(const Driver& driver);
Event make_event(const Driver& driver);
DeviceMemory allocate(const Driver& driver, std::size_t bytes);
/// Host memory that kernels can reach too.
PinnedMemory allocate_pinned(const Driver& driver, std::size_t bytes);
CUdeviceptr device_pointer(const Driver& driver, const PinnedMemory& memory);

/// The primary context of a GPU (the one that cuBLAS shares), current in the calling thread.
class Context {
 public:
  /// Throws Error naming the GPUs there are when `index` is not one.
  Context(const Driver& driver, int index);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  CUdevice device() const { return device_; }
  CUcontext get() const { return context_; }

 private:
  const Driver* driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

}  // namespace assay
