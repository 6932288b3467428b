#pragma once

#include <memory>

#include "base/recording.h"
#include "device/device.h"

namespace assay {

/// Answers from a recording with what the GPU answered when it was measured. A configuration that
/// was not recorded is `runtime`/`not_recorded`. A recording of another tuner answers for any
/// kernel, problem and protocol that has its parameters.
class ReplayDevice : public Device {
 public:
  explicit ReplayDevice(Recording recording);
  ~ReplayDevice() override;

  const DeviceInfo& info() const override;
  const std::string& provenance() const override;
  std::string cublas_version() override;
  Outcome run(const TrialRequest& request) override;
  std::vector<Config> recorded(const std::string& kernel, const Problem& problem,
                               const std::string& protocol) const override;
  std::vector<BaselineTiming> run_baselines(const TrialRequest& request,
                                            const std::vector<std::string>& baselines) override;
  /// Answers with the recorded rank of the same problem that holds the most of the `candidates`,
  /// and of several with the newest. A candidate that it lacks gets no samples.
  RerankResult rerank(const std::vector<TrialRequest>& candidates,
                      const std::vector<std::string>& baselines, const RerankSpec& spec) override;
  std::vector<Measurement> count(const TrialRequest& request,
                                 const std::vector<std::string>& names) override;
  std::vector<std::string> countable(const std::vector<std::string>& names) override;

  const Recording& recording() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
