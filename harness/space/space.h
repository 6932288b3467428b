#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/device_info.h"
#include "base/limits.h"
#include "base/value.h"
#include "spec/kernel_spec.h"

namespace assay {

class Bindings;

/// How many partial configurations are looked at while a space is counted, at 20 to 100 ns each.
inline constexpr std::uint64_t kMaxCountedSteps = 100'000'000;

/// How many points of the Cartesian product one constraint removed (the first that failed).
struct Removal {
  std::string constraint;  // its text
  std::uint64_t points = 0;
};

/// The kernel with `config` as all that its parameters may be. A sweep may have given a parameter
/// values that the kernel does not list.
KernelSpec with_values_of(const Config& config, KernelSpec kernel);

/// The kernel with those values of its parameters that are expressions of the device computed.
/// Throws SpecError for one that has no answer.
KernelSpec with_device_values(KernelSpec kernel, const DeviceInfo& device);

/// The valid configurations of one kernel for one problem on one device.
///
/// Enumeration binds one parameter after another. It tests each constraint as soon as all its names
/// are bound, so that a whole subtree can be skipped. The order is that of nested loops over the
/// parameters as declared. It does not depend on the order in which constraints are tested.
class Space {
 public:
  Space(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device);

  /// Calls `visit` with each valid configuration (as one value index per parameter) until it
  /// returns false. Constraint arithmetic that has no answer (division by zero) counts as removed.
  /// Throws Interrupted after a signal, and UsageError after kMaxConfigs configurations or
  /// `max_steps` partial ones.
  void for_each(const std::function<bool(const std::vector<int>&)>& visit,
                std::uint64_t max_steps = kMaxSpaceSteps) const;

  /// Up to `count` different valid points, in the order of for_each. They are drawn: parameters
  /// that constraints tie to each other one after another, so that a point may be likelier than
  /// another where these are many. Fewer where the constraints leave little, or after
  /// `max_seconds`. Takes some seconds at most, however large the space is. Throws Interrupted.
  std::vector<std::vector<int>> draw(
      std::size_t count, std::uint64_t seed,
      double max_seconds = std::numeric_limits<double>::infinity()) const;

  /// The parameters with the values that they have on the device.
  const std::vector<ParamSpec>& params() const;

  /// The configuration of a point given by value indices.
  Config config(std::span<const int> point) const;

  /// The value indices of a configuration, which need not be valid; nothing where a name or a value
  /// is not in the space.
  std::optional<std::vector<int>> point(const Config& config) const;

  /// Whether a point given by value indices fulfils all constraints.
  bool is_valid(std::span<const int> point) const;

  /// Counts valid points and what each constraint removed, by groups of parameters that constraints
  /// tie to each other. Ends after `max_steps` partial configurations, or `max_seconds`. Throws
  /// Interrupted.
  struct Size {
    std::uint64_t raw = 0;
    std::uint64_t valid = 0;
    std::vector<Removal> removed;  // in the order of the constraints; 0 where this is not whole
    std::uint64_t steps = 0;       // partial configurations
    bool whole = true;             // else so many were counted of a space that has more
  };
  Size size(std::uint64_t max_steps = kMaxCountedSteps,
            double max_seconds = std::numeric_limits<double>::infinity()) const;

  /// The parameter with the most values: to give it fewer makes the space smaller.
  std::string widest_param() const;

  /// The first constraint that `config` breaks, or nothing. Throws UsageError when a name or a
  /// value of `config` is not in the space.
  std::optional<std::string> broken_constraint(const Config& config) const;

 private:
  struct Impl;
  class Walk;

  const Expr* first_broken(Bindings& bindings) const;

  std::shared_ptr<const Impl> impl_;
};

}  // namespace assay
