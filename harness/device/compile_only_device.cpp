#include "device/compile_only_device.h"

#include <utility>

namespace assay {

CompileOnlyDevice::CompileOnlyDevice(DeviceInfo info) : info_(std::move(info)) {}

std::string CompileOnlyDevice::cublas_version() { return ""; }

Outcome CompileOnlyDevice::run(const TrialRequest&) {
  Outcome outcome;
  outcome.kind = "compiled";
  outcome.message = "compiled, not run";
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
