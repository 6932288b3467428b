#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "space/plan.h"
#include "support/arena.h"
#include "support/fill_kernel.h"
#include "support/support_kernels.h"

namespace assay {

/// An input in guarded memory.
struct Input {
  GuardedBuffer buffer;
  BufferPlan plan;
  std::uint64_t seed = 0;              // what is in it follows from this, its name and the index,
  DataKind kind = DataKind::as_drawn;  // and this
  std::uint64_t first_seed = 0;        // of Inputs::get: decides what no later draw changes
  std::optional<std::uint64_t> hash;   // of what is in it, where that is not made anew: see remake
  DeviceMemory memory;
  DeviceMemory largest = {};  // of what is quantised: the size of the largest element of each block
  std::string key;            // what it is but for the seed: its name, its size, and how it is made
  std::vector<std::shared_ptr<Input>> sources = {};  // the inputs that it is made of
  std::unique_ptr<FillKernel> kernel = {};           // that fills it
};

/// Makes inputs and keeps their memory, so that the trials of a problem share it. What is in an
/// input follows from seed, name and index alone. If its shape depends on the configuration, each
/// configuration gets its own.
class Inputs {
 public:
  explicit Inputs(const SupportKernels& support) : support_(&support) {}

  /// The input `buffer` of `plan`, with what `seed` makes in it and in those that it is made of.
  /// Throws like fill_recipe and derived, CudaError, and Failure `oracle` for a kernel of the
  /// user's own that does not fill it, and nothing else, twice in the same way.
  std::shared_ptr<Input> get(const Plan& plan, const BufferPlan& buffer, std::uint64_t seed);
  /// Enqueues the fill with what `seed` makes, and makes it data of `kind`, unless that is in it.
  /// What an input is made of must have been drawn so before; it is of that kind then.
  void draw(Input& input, std::uint64_t seed, DataKind kind = DataKind::as_drawn) const;
  /// Enqueues the same fill once more, whatever a kernel has left there. What it is made of must
  /// have been made anew before. An input that comes from the host, or from a kernel of the user's
  /// own that takes no seed, stays as it is: `hash` says what it must hold.
  void remake(Input& input) const;
  /// Restores an input that a kernel has changed, and its guard zones.
  void restore(Input& input) const;
  /// Forgets all inputs: another problem begins, or memory is short.
  void clear() { kept_.clear(); }

 private:
  void fill(Input& input) const;
  void write(const Input& input) const;
  void make_of(const Input& source, const Input& input) const;
  void derive(const Input& input) const;
  void upload(const Input& input, const std::string& bytes) const;
  void fill_twice(Input& input) const;

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
  double fourth = 0;
};

/// How to fill an input. Throws Failure when the generator's arguments make no sense together,
/// UsageError for an unknown generator.
FillRecipe fill_recipe(const BufferPlan& plan);

}  // namespace assay
