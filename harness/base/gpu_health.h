#pragma once

#include <cstdint>
#include <optional>

#include "base/trial.h"

namespace assay {

/// What the driver says about a GPU that matters for times measured on it. A field is empty where
/// this GPU or driver does not say.
struct GpuHealth {
  GpuState state;
  std::optional<double> clock_mhz = {};  // of the SMs, now
  std::optional<double> max_clock_mhz = {};
  std::optional<double> memory_clock_mhz = {};
  std::optional<bool> ecc = {};
  std::optional<int> num_processes = {};  // with a context on the GPU, this one included
  bool operator==(const GpuHealth&) const = default;
};

/// The bit of GpuState::throttle_reasons that says that someone has set the clocks.
inline constexpr std::uint64_t kClocksSetReason = 0x2;

}  // namespace assay
