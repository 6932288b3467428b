#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/assay.h"
#include "cuda/lt_product.h"
#include "launch/ready_launch.h"
#include "pack/choice.h"

namespace assay {

/// A call that is refused, with the status that says why.
struct Refusal : std::runtime_error {
  Refusal(assay_status code, const std::string& message)
      : std::runtime_error(message), status(code) {}
  assay_status status;
};

/// What a caller passes to a launch.
struct LaunchBuffers {
  void* const* arguments = nullptr;
  std::size_t num_arguments = 0;
  void* workspace = nullptr;
  void* prepared = nullptr;
};

/// A choice whose arguments are laid out. All but its loaded code never changes.
class TunedPlan {
 public:
  /// `order` names the caller's arguments. Throws Refusal for a plan with more arguments than a
  /// launch has room for.
  TunedPlan(Choice choice, const std::vector<std::string>& order, CUdevice device);

  CUdevice device() const { return device_; }
  const Choice& choice() const { return choice_; }
  const std::vector<const BufferPlan*>& arguments() const { return arguments_; }
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  std::size_t prepared_bytes() const { return prepared_bytes_; }
  /// Whether an input is copied to a variable of the code, so that the plan needs code of its own.
  bool has_variables() const { return !variables_.empty(); }
  /// The texts of assay_how, made when they are first asked for.
  struct Texts {
    std::string configuration, problem, why;
  };
  const Texts& texts() const;

  bool is_loaded() const { return loaded_.load(std::memory_order_acquire) != nullptr; }
  /// Finds the entries in the module, which outlives the plan, and publishes them. Only one thread
  /// may call it at a time. The GPU's context is current. Throws Failure or CudaError.
  void load(const Driver& driver, const Module& module);
  /// The same for a fallback, whose product cuBLASLt computes; it outlives the plan.
  void load(const Driver& driver, const CublasLt& cublas);

  /// Enqueues the launches that prepare and the copies to variables, or what is tuned. Neither
  /// allocates nor locks. Throws Refusal before anything is enqueued, CudaError where the driver
  /// refuses.
  void prepare(CUstream stream, const LaunchBuffers& buffers) const;
  void launch(CUstream stream, const LaunchBuffers& buffers) const;

 private:
  /// Where an argument's value comes from.
  enum class Form { callers, workspace, prepared, tensor_map, no_tensor_map, packed };
  struct Slot {
    Form form;
    std::size_t place;   // in Plan::args
    std::size_t number;  // of the caller's argument, or an offset in memory, or of a map
  };
  struct Member {
    std::size_t packed_place, member_place, offset, bytes;
  };
  struct Memset {
    std::size_t place, bytes;
  };
  struct Copy {
    std::size_t to_place, from_place, bytes;
  };
  struct Variable {
    std::size_t place, bytes;
    std::string symbol;
  };
  /// cuBLASLt's, and what it computes it by.
  struct Product {
    LtProduct product;
    cublasLtMatmulAlgo_t aligned, any;  // for addresses as cuBLASLt wants them, and as others are
    std::size_t a, b, out;              // the callers' arguments
  };
  struct Loaded {
    const Driver* driver;
    std::optional<Product> product;
    std::vector<ReadyLaunch> launches, preparing;
    std::vector<CUtensorMap> maps;       // of an address that each launch replaces
    std::vector<CUdeviceptr> variables;  // as variables_
  };
  struct Room;

  void publish(std::unique_ptr<const Loaded> loaded);
  const Loaded& loaded() const;
  void check(const LaunchBuffers& buffers, bool preparing) const;
  void bind(const Loaded& loaded, const LaunchBuffers& buffers, Room& room) const;
  static void multiply(const Product& product, const LaunchBuffers& buffers, CUstream stream);
  static void enqueue(const Loaded& loaded, const std::vector<ReadyLaunch>& launches, Room& room,
                      CUstream stream);

  Choice choice_;
  CUdevice device_;
  mutable std::once_flag texts_made_;
  mutable Texts texts_;
  std::vector<const BufferPlan*> arguments_;
  std::size_t workspace_bytes_ = 0, prepared_bytes_ = 0;
  std::vector<std::uint64_t> scalars_;    // by place
  std::vector<Slot> slots_;               // of all other places
  std::vector<std::size_t> map_sources_;  // the place of the buffer that each map is of
  std::vector<Member> members_;
  std::vector<Memset> memsets_;
  std::vector<Copy> copies_;
  std::vector<Variable> variables_;
  std::unique_ptr<const Loaded> owned_;
  std::atomic<const Loaded*> loaded_ = nullptr;
};

}  // namespace assay
