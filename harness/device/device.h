#pragma once

#include <string>
#include <vector>

#include "base/device_info.h"
#include "messages/requests.h"

namespace assay {

/// Where configurations run: a worker process on a GPU, or the replay of recorded trials. Methods
/// never throw for what a configuration does; they throw Error when the device is lost for good
/// and Interrupted when a signal arrived.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;

  /// "recorded on NVIDIA H200, 2026-11-21" for a replay; empty for a live device. Shown on every
  /// line that shows a time.
  virtual const std::string& provenance() const = 0;

  virtual Outcome run(const TrialRequest& request) = 0;

  /// Times each of the kernel's baselines for the problem of `request` (its configuration is used
  /// only for the shapes of the arguments).
  virtual std::vector<BaselineTiming> run_baselines(const TrialRequest& request,
                                                    const std::vector<std::string>& baselines) = 0;

  /// Times the candidates and the baselines in turn, round after round in changing order, then
  /// checks each candidate's output once more. After the first rounds the `spec.top` fastest go on;
  /// there are at least `spec.rounds` rounds, and more while noise hides small differences. The
  /// first candidate, best of the screening, takes part twice: what tells its two entries apart is
  /// noise.
  virtual RerankResult rerank(const std::vector<TrialRequest>& candidates,
                              const std::vector<std::string>& baselines,
                              const RerankSpec& spec) = 0;
};

}  // namespace assay
