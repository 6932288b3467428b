#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/device_info.h"
#include "base/trial.h"
#include "messages/requests.h"

namespace assay {

struct Recording;

/// Where configurations run: a worker process on a GPU, or the replay of recorded trials. No method
/// throws for what a configuration does. They throw Error when the device is lost for good, and
/// Interrupted when a signal arrived. Where nothing is timed, most answers are empty.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;

  /// "recorded on NVIDIA H200, 2026-11-21" for a replay; empty for a live device. Shown with its
  /// times.
  virtual std::string provenance() const { return ""; }

  /// The version of cuBLAS that runs baselines, "13.1.0"; empty when there is none, or for a replay
  /// of a recording that does not say. Slow the first time on a GPU, where it loads the library.
  virtual std::string cublas_version() { return ""; }

  virtual Outcome run(const TrialRequest& request) = 0;

  /// The configurations of a kernel for a problem that a recording has trials of under a protocol;
  /// none for a live device, which runs any.
  virtual std::vector<Config> recorded(const std::string& /*kernel*/, const Problem& /*problem*/,
                                       const std::string& /*protocol*/) const {
    return {};
  }

  /// Times each of the kernel's baselines for the problem of `request` (its configuration is used
  /// only for the shapes of the arguments).
  virtual std::vector<BaselineTiming> run_baselines(const TrialRequest& /*request*/,
                                                    const std::vector<std::string>& /*baselines*/) {
    return {};
  }

  /// The re-rank: times the candidates and the baselines in turn, round after round, in changing
  /// order. Then it checks each candidate's output once more.
  ///
  /// After the first rounds only the `spec.top` fastest go on. There are at least `spec.rounds`
  /// rounds, and more while noise hides small differences. The first candidate, which is the best
  /// of the screening, has an A/A duplicate: a second entry of the same code. What tells the two
  /// apart is noise.
  virtual RerankResult rerank(const std::vector<TrialRequest>& /*candidates*/,
                              const std::vector<std::string>& /*baselines*/,
                              const RerankSpec& /*spec*/) {
    return {};
  }

  /// What the GPU's counters of these names (base/counters.cpp) count in one launch. Those that the
  /// GPU has not, or a recording lacks, are left out. Throws Error where it cannot count.
  virtual std::vector<Measurement> count(const TrialRequest& /*request*/,
                                         const std::vector<std::string>& /*names*/) {
    return {};
  }

  /// Those of the counters that the GPU has, or trials of the recording have; of a recording
  /// "energy_j", too, if its re-ranks have it. Throws Error where it cannot count.
  virtual std::vector<std::string> countable(const std::vector<std::string>& /*names*/) {
    return {};
  }
};

/// `--device none`: a nominal device of an architecture, on which every configuration that
/// compiled is `compiled`, unless such a device would refuse a launch.
std::unique_ptr<Device> make_compile_only_device(const DeviceInfo& info);

/// Answers from a recording with what the GPU answered when it was measured. A configuration that
/// was not recorded is `runtime`/`not_recorded`. A recording of another tuner answers for any
/// kernel, problem and protocol that has its parameters. A re-rank is answered with the recorded
/// one of the same problem that holds the most of the candidates, and of several with the newest. A
/// candidate that it lacks gets no samples.
std::unique_ptr<Device> make_replay_device(Recording recording);

}  // namespace assay
