#pragma once

#include <cstdint>
#include <functional>
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

/// How many points of the Cartesian product one constraint removed (the first that failed).
struct Removal {
  std::string constraint;  // its text
  std::uint64_t points = 0;
};

/// The kernel with `config` as all that its parameters may be. A sweep may have given a parameter
/// values that the kernel does not list.
KernelSpec with_values_of(const Config& config, KernelSpec kernel);

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
  /// `max_steps` partial ones. Ends after `end_step` partial ones, if that is given.
  void for_each(const std::function<bool(const std::vector<int>&)>& visit,
                std::uint64_t max_steps = kMaxSpaceSteps,
                std::optional<std::uint64_t> end_step = std::nullopt) const;

  /// The configuration of a point given by value indices.
  Config config(std::span<const int> point) const;

  /// The value indices of a configuration, which need not be valid; nothing where a name or a value
  /// is not in the space.
  std::optional<std::vector<int>> point(const Config& config) const;

  /// Counts valid points and what each constraint removed; walks the space once. Throws as for_each
  /// does, but any number of configurations is counted. With `max_seconds`, the walk ends after
  /// these or after `max_steps`, and throws for neither.
  struct Size {
    std::uint64_t raw = 0;
    std::uint64_t valid = 0;
    std::vector<Removal> removed;           // in the order of the constraints
    std::uint64_t steps = 0;                // of the walk: partial configurations
    std::optional<std::uint64_t> end_step;  // where the walk ended before its end
  };
  Size size(std::uint64_t max_steps = kMaxSpaceSteps,
            std::optional<double> max_seconds = std::nullopt) const;

  /// The first constraint that `config` breaks, or nothing. Throws UsageError when a name or a
  /// value of `config` is not in the space.
  std::optional<std::string> broken_constraint(const Config& config) const;

 private:
  struct Impl;
  class Walk;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace assay
