#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/cubin_info.h"
#include "base/device_info.h"
#include "emulator/machine.h"
#include "emulator/memory.h"

namespace assay::emulator {

/// The PTX of what cuModuleLoadData takes: PTX alone, or machine code with its PTX behind it, as
/// the compiler makes it for the emulator. Empty for machine code alone. `image` ends with a 0.
std::string_view ptx_of(const void* image);
/// The machine code; empty where there is none.
std::string_view machine_code_of(const void* image);

struct LoadedModule;

struct LoadedKernel {
  const LoadedModule* owner = nullptr;
  const Program* program = nullptr;
  std::size_t most_dynamic_bytes = 48 << 10;  // of shared memory
  unsigned most_cluster_blocks = 8;
};

/// A loaded module, with the limits of each kernel that its machine code states.
struct LoadedModule {
  Module module;
  std::map<std::string, KernelLimits> limits;
  std::map<std::string, LoadedKernel, std::less<>> kernels = {};
};

inline constexpr int kSmThreads = 2048;

/// The emulated GPU of this process. Work runs when it is enqueued. There are no times or graphs.
class Gpu {
 public:
  static Gpu& get();

  const DeviceInfo& info() const { return info_; }
  Memory& memory() { return memory_; }
  /// The error goes with the last context.
  void retain_context() { ++num_contexts_; }
  void release_context() {
    if (--num_contexts_ == 0) status_ = CUDA_SUCCESS;
  }
  /// What every call returns: the error of a kernel that ran, if there is one.
  CUresult status() const { return status_; }
  /// What the error is about: what was found first, and how much more was.
  const std::string& finding() const { return finding_; }
  void fail(CUresult status, std::string finding);

  CUresult load(const void* image, LoadedModule** module);
  void unload(LoadedModule* module);

  /// How many blocks of a kernel fit an SM.
  int blocks_of_sm(const LoadedKernel& kernel, int block_threads, std::size_t dynamic_bytes) const;

  /// Checks the launch as the driver does, and runs it. What is found the calls behind it say.
  CUresult launch(const CUlaunchConfig& config, LoadedKernel& kernel, void** arguments);

 private:
  Gpu();

  DeviceInfo info_;
  Memory memory_;
  LeftLocal left_local_;
  int num_contexts_ = 0;
  CUresult status_ = CUDA_SUCCESS;
  std::string finding_;
  std::uint64_t num_launches_ = 0;
  CUdeviceptr grid_workspace_ = 0;  // of the cooperative launch that runs
  std::map<LoadedModule*, std::unique_ptr<LoadedModule>> modules_;
};

}  // namespace assay::emulator
