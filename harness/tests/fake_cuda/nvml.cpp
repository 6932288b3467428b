// The functions of NVML that harness/cuda loads, for a GPU that is not there. Built as
// libnvidia-ml.so.1 in a folder of its own, as NVML may be missing where a GPU is.
//
// ASSAY_FAKE_NVML asks for what the GPU is like: words separated by commas.
//   shared       another process has a context on it
//   power_cap    the power limit holds its clocks down
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;

bool is(const char* word) {
  const char* text = std::getenv("ASSAY_FAKE_NVML");
  return text != nullptr && std::strstr(text, word) != nullptr;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return kSuccess; }
int nvmlShutdown() { return kSuccess; }

int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::strncpy(text, "1.2.3", size);
  return kSuccess;
}

int nvmlDeviceGetHandleByUUID(const char*, void** device) {
  static int gpu = 0;
  *device = &gpu;
  return kSuccess;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = is("power_cap") ? 4 : 0;
  return kSuccess;
}

int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 250'000;
  return kSuccess;
}

int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 40;
  return kSuccess;
}

int nvmlDeviceGetClockInfo(void*, int, unsigned* mhz) {
  *mhz = 1755;
  return kSuccess;
}

int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) {
  *mhz = 1755;
  return kSuccess;
}

int nvmlDeviceGetEccMode(void*, int* current, int* pending) {
  *current = *pending = 1;
  return kSuccess;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void*) {
  *count = is("shared") ? 2 : 1;
  return kInsufficientSize;
}

/// Half a joule more at every look.
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  static unsigned long long total = 0;
  *millijoules = total += 500;
  return kSuccess;
}

}  // extern "C"
