#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

/// What a device is, as far as configurations, keys and reports need to know.
struct DeviceInfo {
  std::string name;    // "NVIDIA H200"
  std::string uuid;    // "GPU-xxxxxxxx-..."; empty for a nominal device
  std::string driver;  // "580.159.04"; empty when unknown
  int cc = 0;          // 90 for compute capability 9.0
  int sm_count = 0;
  std::int64_t smem_optin_bytes = 0;  // most dynamic shared memory a block can ask for
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;

  bool operator==(const DeviceInfo&) const = default;

  /// Folder name of results for this device: "nvidia_h200".
  std::string slug() const;
  /// Whether a user means it: by name, folder name or UUID.
  bool is_called(std::string_view wanted) const;
  /// Whether it is a slice of a GPU (MIG), as CUDA's name for it says. Other slices share the
  /// power, and with some sizes the L2 cache and the memory's bandwidth.
  bool is_slice() const;
};

/// The arch that NVRTC compiles for on this device: "90a" for cc 90, "86" for cc 86. The variants
/// with an `a` exist from 90 on; they add wgmma and setmaxnreg.
std::string native_arch(int cc);

/// The compute capabilities whose limits are known: "75", "80", ..., with `separator` between them.
std::string known_archs(std::string_view separator);

/// A stand-in for a device of `arch`, such as "80", "90a" or "100f", for compiling without a GPU.
/// Throws UsageError naming the known ones. Whether NVRTC compiles for it, NVRTC says.
DeviceInfo nominal_device(std::string_view arch);

/// The stand-in for the GPU of that name, such as "NVIDIA A100-PCIE-40GB". Nothing for an unknown
/// model: an A4000 is no A40, and a laptop's GPU is not its namesake.
std::optional<DeviceInfo> nominal_model(std::string_view name);

}  // namespace assay
