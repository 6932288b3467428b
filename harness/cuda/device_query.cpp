#include "cuda/device_query.h"

#include <fmt/format.h>

#include <array>

namespace assay {
namespace {

int attribute(const Driver& driver, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  driver.cuDeviceGetAttribute(&value, which, device);
  return value;
}

/// The way nvidia-smi prints it: GPU-8-4-4-4-12 hex digits.
std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

}  // namespace

DeviceInfo query_device(const Driver& driver, CUdevice device) {
  DeviceInfo info = query_gpu(driver, device);
  info.driver = driver_version();
  return info;
}

DeviceInfo query_gpu(const Driver& driver, CUdevice device) {
  DeviceInfo info;
  std::array<char, 256> name{};
  driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device);
  info.name = name.data();
  CUuuid uuid{};
  driver.cuDeviceGetUuid(&uuid, device);
  info.uuid = uuid_text(uuid);
  info.cc = 10 * attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
            attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  info.sm_count = attribute(driver, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.smem_optin_bytes =
      attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  info.l2_bytes = attribute(driver, device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  std::size_t bytes = 0;
  driver.cuDeviceTotalMem(&bytes, device);
  info.memory_bytes = static_cast<std::int64_t>(bytes);
  return info;
}

int driver_cuda_version() {
  CUresult (*get_version)(int*) = nullptr;
  int version = 0;
  try {
    const Library driver("the NVIDIA driver", {"libcuda.so.1"}, {}, "");
    driver.load(get_version, "cuDriverGetVersion");
  } catch (const Error&) {
    return 0;
  }
  return get_version(&version) == CUDA_SUCCESS ? version : 0;
}

std::string driver_version() {
  // nvml.h is not part of every toolkit; these three functions have kept their form since NVML 4.
  int (*initialise)() = nullptr;
  int (*get_version)(char*, unsigned) = nullptr;
  int (*shut_down)() = nullptr;
  try {
    const Library nvml("NVML", {"libnvidia-ml.so.1"}, {}, "it comes with the NVIDIA driver");
    nvml.load(initialise, "nvmlInit_v2");
    nvml.load(get_version, "nvmlSystemGetDriverVersion");
    nvml.load(shut_down, "nvmlShutdown");
  } catch (const Error&) {
    return {};
  }
  if (initialise() != 0) return {};
  std::array<char, 81> text{};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE + 1
  const bool ok = get_version(text.data(), static_cast<unsigned>(text.size()) - 1) == 0;
  static_cast<void>(shut_down());
  return ok ? text.data() : std::string();
}

}  // namespace assay
