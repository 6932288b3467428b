#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "space/plan.h"
#include "support/arena.h"
#include "support/support_kernels.h"

namespace assay {

/// A generated input in guarded memory.
struct Input {
  GuardedBuffer buffer;
  BufferPlan plan;
  std::uint64_t seed = 0;              // what is in it follows from this, its name and the index,
  DataKind kind = DataKind::as_drawn;  // and this
  bool sealed = false;                 // `seal` holds the hash of what was drawn
  DeviceMemory seal;                   // a 64-bit word
  DeviceMemory memory;
};

/// Makes inputs and keeps their memory, so that the trials of a problem share it. What is in an
/// input follows from seed, name and index alone. If its shape depends on the configuration, each
/// configuration gets its own.
class Inputs {
 public:
  Inputs(const Driver& driver, CUstream stream, const SupportKernels& support);

  /// The input of that name and shape, with what `seed` makes in it. Throws like fill_recipe, and
  /// CudaError.
  std::shared_ptr<Input> get(const BufferPlan& plan, std::uint64_t seed);
  /// Enqueues the fill with what `seed` makes, and makes it data of `kind`, unless that is in it.
  void draw(Input& input, std::uint64_t seed, DataKind kind = DataKind::as_drawn) const;
  /// Enqueues the hash of what was drawn, so that a check can tell whether a kernel changed it.
  void seal(Input& input) const;
  /// Restores an input that a kernel has changed, and its guard zones.
  void restore(Input& input) const;
  /// Forgets all inputs: another problem begins, or memory is short.
  void clear() { kept_.clear(); }

 private:
  void fill(Input& input) const;

  const Driver* driver_;
  CUstream stream_;
  const SupportKernels* support_;
  std::map<std::string, std::shared_ptr<Input>> kept_;
};

/// The key from which the random numbers of the argument `name` are made.
std::uint64_t generator_key(std::uint64_t seed, std::string_view name);

/// A generator with the numbers that it needs, in the order of its arguments. `routing` knows the
/// number of its tokens.
struct FillRecipe {
  Generator generator = Generator::normal;
  double first = 0;
  double second = 0;
  double third = 0;
};

/// How to fill an input. Throws Failure when the generator's arguments make no sense together,
/// UsageError for an unknown generator.
FillRecipe fill_recipe(const BufferPlan& plan);

}  // namespace assay
