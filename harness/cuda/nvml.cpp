#include "cuda/nvml.h"

#include "base/error.h"

namespace assay {
namespace {

constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
constexpr int kGpuTemperature = 0;
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;

/// The answer of `query` about one kind of thing, if it has one.
template <typename Query, typename Device>
std::optional<double> ask(Query query, Device device, int kind) {
  unsigned value = 0;
  if (query(device, kind, &value) != kSuccess) return std::nullopt;
  return value;
}

}  // namespace

Nvml::Nvml(const std::string& uuid)
    : library_("NVML", {"libnvidia-ml.so.1"}, {}, "it comes with the NVIDIA driver") {
  Result (*init)() = nullptr;
  Result (*handle_by_uuid)(const char*, Device*) = nullptr;
  library_.load(init, "nvmlInit_v2");
  library_.load(handle_by_uuid, "nvmlDeviceGetHandleByUUID");
  library_.load(throttle_reasons_, "nvmlDeviceGetCurrentClocksThrottleReasons");
  library_.load(power_mw_, "nvmlDeviceGetPowerUsage");
  library_.load(temperature_, "nvmlDeviceGetTemperature");
  library_.load(clock_mhz_, "nvmlDeviceGetClockInfo");
  library_.load(max_clock_mhz_, "nvmlDeviceGetMaxClockInfo");
  library_.load(ecc_, "nvmlDeviceGetEccMode");
  library_.load(processes_, "nvmlDeviceGetComputeRunningProcesses_v3");
  library_.load(energy_mj_, "nvmlDeviceGetTotalEnergyConsumption");
  if (init() != kSuccess) throw Error("NVML does not start");
  if (handle_by_uuid(uuid.c_str(), &device_) != kSuccess) throw Error("NVML does not know " + uuid);
}

std::optional<Nvml> Nvml::find(const std::string& uuid) {
  try {
    return Nvml(uuid);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<GpuState> Nvml::state() const {
  unsigned long long reasons = 0;
  unsigned power_mw = 0;
  if (throttle_reasons_(device_, &reasons) != kSuccess) return std::nullopt;
  if (power_mw_(device_, &power_mw) != kSuccess) return std::nullopt;
  const std::optional<double> temperature_c = ask(temperature_, device_, kGpuTemperature);
  if (!temperature_c) return std::nullopt;
  return GpuState{reasons, power_mw / 1e3, *temperature_c};
}

std::optional<GpuHealth> Nvml::health() const {
  const std::optional<GpuState> now = state();
  if (!now) return std::nullopt;
  GpuHealth health{.state = *now,
                   .clock_mhz = ask(clock_mhz_, device_, kSmClock),
                   .max_clock_mhz = ask(max_clock_mhz_, device_, kSmClock),
                   .memory_clock_mhz = ask(clock_mhz_, device_, kMemoryClock)};
  int current = 0, pending = 0;
  if (ecc_(device_, &current, &pending) == kSuccess) health.ecc = current != 0;
  // With room for none, the answer is how many there are.
  unsigned count = 0;
  const Result result = processes_(device_, &count, nullptr);
  if (result == kSuccess || result == kInsufficientSize) {
    health.num_processes = static_cast<int>(count);
  }
  return health;
}

std::optional<double> Nvml::energy_j() const {
  unsigned long long energy_mj = 0;
  if (energy_mj_(device_, &energy_mj) != kSuccess) return std::nullopt;
  return static_cast<double>(energy_mj) / 1e3;
}

}  // namespace assay
