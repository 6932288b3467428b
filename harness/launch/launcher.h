#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/handles.h"
#include "launch/ready_launch.h"
#include "space/plan.h"

namespace assay {

/// The device address of the buffer argument `name`.
using AddressOf = std::function<CUdeviceptr(const std::string& name)>;

/// A copy of device memory.
struct DeviceCopy {
  CUdeviceptr to = 0, from = 0;
  std::size_t bytes = 0;
};

/// A configuration's machine code with its arguments set: ready to launch.
class Launcher {
 public:
  /// Loads the cubin and finds its entry points. Throws Failure (`missing_entry`, `launch`) or
  /// CudaError.
  /// `loaded` is the cubin where it is loaded already: launches then share its variables.
  Launcher(const Driver& driver, const Plan& plan, const std::string& cubin,
           const AddressOf& address_of, std::shared_ptr<const Module> loaded = nullptr);

  /// Gives the argument at that place of the plan another value.
  void set(const ScalarPlan& scalar, std::size_t place);

  /// Enqueues what a trial does not time: the copies to variables of the code.
  void write_symbols(CUstream stream) const;

  /// Enqueues the launches that prepare, which a trial times apart. Throws like enqueue().
  void prepare(CUstream stream) const { enqueue(preparing_, stream); }

  /// Enqueues what a trial times: the memsets of buffers that must start at zero and the copies of
  /// inputs, then the launches in order. Throws CudaError for a refused launch.
  void enqueue(CUstream stream) const;

  /// The threads of the largest block of which an SM holds two or more at a time, clusters left
  /// out; 0: there is none. Throws CudaError.
  int shared_sm_threads() const;

  /// Whether threads have local memory, which nobody clears between launches. Throws CudaError.
  bool has_local_memory() const;

  std::shared_ptr<const Module> module() const { return module_; }
  /// What write_symbols() copies.
  const std::vector<DeviceCopy>& symbols() const { return symbols_; }

 private:
  struct Launch {
    ReadyLaunch ready;
    std::vector<void*> parameters;  // into slots_
  };
  struct Memset {
    CUdeviceptr data = 0;
    std::size_t bytes = 0;
  };
  /// Aligned enough for any argument; a tensor map needs 64-byte alignment and 128 bytes.
  struct alignas(64) Slot {
    unsigned char bytes[128];
  };
  /// Of an argument. A struct may take several slots.
  using Slots = std::vector<Slot>;

  void bind(const Driver& driver, const Plan& plan, const std::string& cubin,
            const AddressOf& address_of);
  void pack(const Plan& plan, std::size_t place);
  CUdeviceptr find_symbol(const BufferPlan& buffer, const std::string& cubin) const;
  void enqueue(const std::vector<Launch>& launches, CUstream stream) const;

  const Driver* driver_;
  std::shared_ptr<const Module> module_;
  std::vector<Slots> slots_;  // of the plan's arguments
  std::vector<Texture> textures_;
  std::vector<Memset> memsets_;
  std::vector<DeviceCopy> copies_, symbols_;
  std::vector<Launch> launches_, preparing_;
};

}  // namespace assay
