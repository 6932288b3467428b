#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "base/cubin_info.h"
#include "base/file.h"
#include "device/device.h"

namespace assay {
namespace {

/// Why a device such as `info` would refuse the launch; empty if it would not.
std::string why_refused(const LaunchPlan& launch, const KernelLimits& of, const DeviceInfo& info) {
  const std::int64_t smem_bytes = static_smem_bytes(of, info.cc) + launch.smem_bytes;
  if (smem_bytes > info.smem_optin_bytes) {
    return fmt::format("a block of {} has {} bytes of shared memory, and the device allows {}",
                       launch.entry, smem_bytes, info.smem_optin_bytes);
  }
  const std::int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (of.max_threads > 0 && threads > of.max_threads) {
    return fmt::format("a block of {} has {} threads, and its __launch_bounds__ allow {}",
                       launch.entry, threads, of.max_threads);
  }
  return {};
}

class CompileOnlyDevice : public Device {
 public:
  explicit CompileOnlyDevice(const DeviceInfo& info) : info_(info) {}

  const DeviceInfo& info() const override { return info_; }

  Outcome run(const TrialRequest& request) override {
    Outcome outcome;
    std::error_code ignored;
    const bool has_code = std::filesystem::exists(request.cubin_path, ignored);
    const auto limits = kernel_limits_of(has_code ? read_file(request.cubin_path) : "");
    for (const auto* launches : {&request.plan.launches, &request.plan.prepare}) {
      for (const LaunchPlan& launch : *launches) {
        const auto found = limits.find(launch.symbol.empty() ? launch.entry : launch.symbol);
        const KernelLimits of = found == limits.end() ? KernelLimits() : found->second;
        const std::string why = why_refused(launch, of, info_);
        if (!why.empty()) return {Status::runtime, "launch", why};
      }
    }
    outcome.status = Status::compiled;
    return outcome;
  }

 private:
  DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Device> make_compile_only_device(const DeviceInfo& info) {
  return std::make_unique<CompileOnlyDevice>(info);
}

}  // namespace assay
