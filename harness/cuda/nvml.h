#pragma once

#include <optional>
#include <string>

#include "base/library.h"
#include "base/trial.h"

namespace assay {

/// One GPU as NVML, the driver's library for its state, sees it. Changes nothing about it.
class Nvml {
 public:
  /// `uuid` is as in DeviceInfo. Nothing when NVML is not installed, or does not know that GPU.
  static std::optional<Nvml> find(const std::string& uuid);

  /// Nothing when the GPU no longer answers. Takes a millisecond or so.
  std::optional<GpuState> state() const;
  std::optional<GpuHealth> health() const;
  /// Energy that the board has taken since the driver was loaded; the counter moves on every 20 to
  /// 100 ms. Nothing where this GPU has none (before Volta).
  std::optional<double> energy_j() const;

 private:
  explicit Nvml(const std::string& uuid);

  // NVML's own types; its header is not part of every CUDA toolkit, and its ABI is fixed.
  using Device = struct nvmlDevice_st*;
  using Result = int;

  Library library_;
  Device device_ = nullptr;
  Result (*throttle_reasons_)(Device, unsigned long long*) = nullptr;
  Result (*power_mw_)(Device, unsigned*) = nullptr;
  Result (*temperature_)(Device, int, unsigned*) = nullptr;
  Result (*clock_mhz_)(Device, int, unsigned*) = nullptr;
  Result (*max_clock_mhz_)(Device, int, unsigned*) = nullptr;
  Result (*ecc_)(Device, int*, int*) = nullptr;
  Result (*processes_)(Device, unsigned*, void*) = nullptr;
  Result (*energy_mj_)(Device, unsigned long long*) = nullptr;
};

}  // namespace assay
