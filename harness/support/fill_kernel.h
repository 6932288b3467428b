#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/launcher.h"
#include "space/plan.h"

namespace assay {

/// The launches of a kernel of the user's own, as a plan.
Plan plan_of(const ReferenceKernelPlan& kernel);

/// A kernel of the user's own that fills an input: loaded, with its arguments set.
class FillKernel {
 public:
  /// Throws CudaError, Failure.
  FillKernel(const Driver& driver, const ReferenceKernelPlan& kernel, const AddressOf& address_of);

  /// Enqueues the launch.
  void enqueue(CUstream stream, std::uint64_t seed);

  /// Whether it makes something else of another seed.
  bool takes_seed() const { return seed_place_.has_value(); }
  /// "make of gen.cu"
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  Launcher launcher_;
  std::optional<std::size_t> seed_place_;
};

/// The kernel of `plan` that fills the input `name`, or null.
const ReferenceKernelPlan* find_fill(const Plan& plan, const std::string& name);

/// The inputs that `buffer`, one of `plan`, is made of.
std::vector<std::string> fill_sources(const Plan& plan, const BufferPlan& buffer);

/// Whether an input follows from another one by a computation of the host.
bool is_derived_on_host(const BufferPlan& plan);

/// The bytes of `plan`, an input that is made of `source`, whose bytes are given. Throws Failure
/// `launch` for an index that does not fit.
std::string derived(const BufferPlan& plan, const BufferPlan& source, const std::string& bytes);

}  // namespace assay
