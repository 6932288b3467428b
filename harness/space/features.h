#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/device_info.h"
#include "base/value.h"
#include "space/bindings.h"
#include "spec/kernel_spec.h"

namespace assay {

/// What is known of configurations before they are compiled, in numbers that other problems' have
/// too: the problem's sizes and traits, the parameters, what the contract's `let` says of them, and
/// how the first launch fills the device.
class Features {
 public:
  /// Keeps references. Throws UsageError when `problem` lacks one of the kernel's dims or traits.
  Features(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device);

  /// How many numbers there are.
  std::size_t count() const;

  /// Appends those of `config` to `to`. Nothing is appended, and the answer is false, when it is of
  /// other parameters than the kernel's.
  bool append(const Config& config, std::vector<float>& to);

  /// What of the numbers of one configuration says how its first launch fills the device.
  static std::span<const float> fill(std::span<const float> numbers) {
    return numbers.last(kNumOfLaunch);
  }

 private:
  static constexpr std::size_t kNumOfLaunch = 4;

  void append_launch(std::vector<float>& to) const;

  const KernelSpec& kernel_;
  const DeviceInfo device_;
  std::vector<float> of_problem_;
  Bindings bindings_;
  std::vector<int> param_slots_, let_slots_;
};

}  // namespace assay
