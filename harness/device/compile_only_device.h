#pragma once

#include "device/device.h"

namespace assay {

/// `--device none`: a nominal device of an architecture, on which every configuration that
/// compiled is `compiled`, unless such a device would refuse a launch.
class CompileOnlyDevice : public Device {
 public:
  explicit CompileOnlyDevice(DeviceInfo info);

  const DeviceInfo& info() const override { return info_; }
  const std::string& provenance() const override { return provenance_; }
  std::string cublas_version() override;
  Outcome run(const TrialRequest& request) override;
  std::vector<BaselineTiming> run_baselines(const TrialRequest& request,
                                            const std::vector<std::string>& baselines) override;
  RerankResult rerank(const std::vector<TrialRequest>& candidates,
                      const std::vector<std::string>& baselines, const RerankSpec& spec) override;
  std::vector<Measurement> count(const TrialRequest& request,
                                 const std::vector<std::string>& names) override;
  std::vector<std::string> countable(const std::vector<std::string>& names) override;

 private:
  DeviceInfo info_;
  std::string provenance_;
};

}  // namespace assay
