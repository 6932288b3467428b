#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "judge/operation.h"
#include "space/plan.h"
#include "support/device_word.h"
#include "support/inputs.h"

namespace assay {

/// The values that an output must have, or that later steps read.
struct ReferenceOutput {
  DeviceMemory memory;
  Operand operand;
  Arithmetic arithmetic;  // of all the steps that lead to it
  double rms = 0;
  std::uint64_t hash = 0;
  DeviceMemory terms_memory;  // the squared sizes of its elements' terms, in f32
  double terms_rms = 0;       // the root of their mean; 0: not known
  std::uint64_t terms_hash = 0;
  DeviceMemory parts_memory;  // see Operation::makes_parts
  std::int64_t checked = 0;   // so many elements from the start were made; 0: all

  std::size_t bytes() const {
    return static_cast<std::size_t>(operand.elements() * size_bytes(operand.dtype));
  }
  /// 0 where they are not known.
  CUdeviceptr terms() const { return terms_rms > 0 ? terms_memory.get() : 0; }
  std::size_t terms_bytes() const {
    return static_cast<std::size_t>(operand.elements()) * sizeof(float);
  }
  std::int64_t made_elements() const { return checked > 0 ? checked : operand.elements(); }
  Magnitude magnitude() const { return {made_elements(), rms, terms_rms}; }
};

/// What the steps of a plan's reference computed, by name.
struct Reference {
  std::map<std::string, ReferenceOutput> outputs;  // of every step, also those read by steps alone
  std::string text;                                // "gemm, kernel naive of ref.cu"
  std::set<std::string> unchecked;                 // the operations that have no check in fp64
  std::string drawn;                               // the inputs' seeds; empty: never computed
  std::set<std::string> made;                      // by the steps that have run
  double cost_s = 0;                               // of computing it once more
  std::uint64_t veil = 0;                          // the key by which it is hidden; 0: it is not

  /// What a step made under this name, or null. An in-out argument is the input until then.
  const ReferenceOutput* find(const std::string& name) const {
    return made.contains(name) ? &outputs.at(name) : nullptr;
  }
};

/// A sentence for the message of a result that rests on an unchecked operation, else nothing.
std::string unchecked_note(const Reference& reference);

/// The inputs of a trial by argument name.
using InputMap = std::map<std::string, std::shared_ptr<Input>>;

/// The inputs and options of step `index` of the reference of `plan`. Inputs that an earlier step
/// computed come from `made`. Throws Failure `oracle` for a name that is neither an input nor in
/// `made`.
OperationCall reference_call(const Plan& plan, std::size_t index, const InputMap& inputs,
                             const Reference& made);

/// Computes references and keeps their memory, since the trials of a problem share it.
class References {
 public:
  explicit References(OperationEngine& engine);

  /// The reference for what is in the inputs now. It is computed if they were drawn anew, in the
  /// same memory. Waits for the stream. Throws Failure `oracle` when an operation cannot be done,
  /// does not make the shape that an output has, or disagrees, the first time, with the host's own
  /// computation of a sample of its elements.
  std::shared_ptr<const Reference> get(const Plan& plan, const InputMap& inputs);
  /// Enqueues what makes random bits of all outputs, so that a kernel that guesses their addresses
  /// finds nothing. `get` takes it back. `key` is secret and not 0.
  void hide(std::uint64_t key);
  /// Gives back all memory.
  void clear();

 private:
  void veil(Reference& reference, std::uint64_t key) const;
  void compute(const Plan& plan, const InputMap& inputs, Reference& reference);
  void add_step(const Plan& plan, std::size_t index, const InputMap& inputs, Reference& reference);
  void add_file(const Plan& plan, const ReferencePlan& step, Reference& reference);
  void add_kernel(const Plan& plan, const ReferenceKernelPlan& kernel, const InputMap& inputs,
                  Reference& reference);
  void describe(const std::string& name, ReferenceOutput& output) const;

  const SupportKernels* support_;
  OperationEngine* engine_;
  std::map<std::string, std::shared_ptr<Reference>> kept_;
  /// What is worked out on the device of each output that is made.
  struct Sums {
    double squares = 0, squared_terms = 0;
    std::uint64_t hash = 0, terms_hash = 0;
  };
  DeviceWord<Sums> sums_;  // kept, since to allocate it takes longer than a short reference
};

/// Compares a sample of what an operation made with what the host computes in fp64: of each output
/// of `made`, in the order of the row, the first and last element and others at random. Throws
/// Failure `oracle` naming the first element in which the two disagree. False when the operation
/// has no rule for that.
bool spot_check(const OperationRow& row, const Operation& operation, const OperationCall& call,
                const std::vector<OutputShape>& made, const ReadElements& read);

}  // namespace assay
