#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/trial.h"
#include "judge/module_memory.h"
#include "judge/output_part.h"
#include "judge/reference.h"
#include "judge/tolerance.h"
#include "launch/failure.h"
#include "support/arena.h"
#include "support/inputs.h"

namespace assay {

/// An output, and what it must hold.
struct CheckedOutput {
  GuardedBuffer buffer;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  const ReferenceOutput* reference = nullptr;
  Tolerance tolerance;
  OutputPart part = {};

  /// The squared sizes of the terms of what is compared, or 0: those of a sorted output, or of the
  /// sum of one, are not known.
  CUdeviceptr terms() const { return part.sorted || part.sum ? 0 : reference->terms(); }
};

/// Variables of the kernel's own, and what they held before its first launch.
struct SealedVariables {
  ModuleMemory memory;
  std::uint64_t hash = 0;
};

/// What was prepared ahead of a launch. `seal` is the address of its hash at that time.
struct SealedBuffer {
  GuardedBuffer buffer;
  CUdeviceptr seal = 0;
};

/// Everything that a launch may have touched.
struct CheckedBuffers {
  std::vector<std::shared_ptr<Input>> inputs;
  std::vector<CheckedOutput> outputs;
  std::vector<GuardedBuffer> scratch;
  std::vector<SealedVariables> variables;
  std::vector<SealedBuffer> prepared = {};

  /// All that have guard zones: inputs, outputs, scratch and what was prepared, in this order.
  std::vector<GuardedBuffer> guarded() const;
};

/// What a check found.
struct CheckReport {
  std::optional<Failure> failure;        // none: the launch was correct
  std::optional<Validation> validation;  // when outputs were compared and none was unwritten
  std::vector<std::uint64_t> output_hashes;
  std::vector<std::shared_ptr<Input>> damaged_inputs;  // to be restored
  bool damaged_reference = false;
};

/// Checks what a launch did to outputs and scratch that were poisoned, to inputs, and to the guard
/// zones around all of them. It takes one batch of kernels and one copy.
class Checker {
 public:
  explicit Checker(const SupportKernels& support) : support_(&support) {}

  /// Takes the traces of a launch in guard zones, of `buffers`, and in inputs. Then `refer` makes
  /// the inputs anew, so that nothing that a kernel left there counts, and has each output know its
  /// reference. Waits for all work on the stream. Throws CudaError, also for a fault of an earlier
  /// launch, and what `refer` throws.
  CheckReport check(const CheckedBuffers& buffers, const GuardZones& zones,
                    const std::function<void()>& refer);

 private:
  struct Slots;
  struct ComparedPair {
    Operand found, expected;
    std::array<DeviceMemory, 2> memory;  // of what had to be made
  };

  void reserve(std::size_t bytes);
  ComparedPair pair_of(const CheckedOutput& output) const;
  std::string element_text(const CheckedOutput& output, const ComparedPair& pair,
                           std::uint64_t index) const;
  /// "; wrong are the last 8 columns (from 56 on)", see pattern_of. Empty for an output of which no
  /// place is compared, and for a huge one.
  std::string wrong_places_text(const CheckedOutput& output, const ComparedPair& pair) const;

  const SupportKernels* support_;
  DeviceMemory results_;
  PinnedMemory mirror_;
  std::size_t capacity_ = 0;
};

/// The verdict on one output's comparison: unwritten, mismatch, or nothing. It is a mismatch, too,
/// if fewer than `elements` elements were compared. `element_text` describes the first bad element:
/// what it holds and what it should hold.
std::optional<Failure> comparison_failure(
    const CheckedOutput& output, const Comparison& found,
    const std::function<std::string(std::uint64_t)>& element_text);

/// ||out - ref||_F / ||ref||_F; 0 for two zero outputs, and always finite.
double relative_error(const Comparison& found);
/// What is left of out - ref when its component along ref is taken off, in ratio to ref or to the
/// size of the terms, whichever is larger. All elements count alike: each is in ratio to the size
/// of its own terms.
double error_across(const Comparison& found);

/// What was found on several inputs: "relative error 0.00171 on average, deviation 1.2e-05, at most
/// 0.00173; worst element 0.31 of its bound". Empty when all outputs were exact.
std::string errors_text(std::span<const Validation> validations);

/// Where the wrong elements of an output are: "wrong are the last 8 columns (from 56 on)". The last
/// dimension of `shape` has the columns, the others together have the rows. `bad` has the places of
/// the wrong elements in rising order, at least one.
std::string pattern_of(const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& bad);

}  // namespace assay
