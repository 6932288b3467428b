#include "device/compile_only_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/kernel_limits.h"

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

}  // namespace

CompileOnlyDevice::CompileOnlyDevice(DeviceInfo info) : info_(std::move(info)) {}

std::string CompileOnlyDevice::cublas_version() { return ""; }

Outcome CompileOnlyDevice::run(const TrialRequest& request) {
  Outcome outcome;
  std::error_code ignored;
  const bool has_code = std::filesystem::exists(request.cubin_path, ignored);
  const auto limits = kernel_limits_of(has_code ? read_file(request.cubin_path) : "");
  for (const auto* launches : {&request.plan.launches, &request.plan.prepare}) {
    for (const LaunchPlan& launch : *launches) {
      const auto found = limits.find(launch.symbol.empty() ? launch.entry : launch.symbol);
      const KernelLimits of = found == limits.end() ? KernelLimits() : found->second;
      outcome.message = why_refused(launch, of, info_);
      if (outcome.message.empty()) continue;
      outcome.status = Status::runtime;
      outcome.kind = "launch";
      return outcome;
    }
  }
  outcome.status = Status::compiled;
  return outcome;
}

std::vector<BaselineTiming> CompileOnlyDevice::run_baselines(const TrialRequest&,
                                                             const std::vector<std::string>&) {
  return {};
}

std::vector<std::string> CompileOnlyDevice::countable(const std::vector<std::string>&) {
  return {};
}

RerankResult CompileOnlyDevice::rerank(const std::vector<TrialRequest>&,
                                       const std::vector<std::string>&, const RerankSpec&) {
  return {};
}

std::vector<Measurement> CompileOnlyDevice::count(const TrialRequest&,
                                                  const std::vector<std::string>&) {
  return {};
}

}  // namespace assay
