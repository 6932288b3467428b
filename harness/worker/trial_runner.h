#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/trial.h"
#include "cuda/handles.h"
#include "worker/worker_state.h"

namespace assay {

/// Runs trials on one GPU, inside the worker process: load, seed inputs, poison outputs, launch,
/// check, time. Everything a configuration does comes back as an Outcome. If context_lost() is true
/// afterwards, the process must be replaced.
class TrialRunner {
 public:
  /// Loads libcuda and retains the primary context of GPU `index`. Throws Error with a sentence
  /// (no driver, no such GPU, out of memory).
  explicit TrialRunner(int index);

  const DeviceInfo& info() const { return info_; }

  /// Loads the harness's own kernels (fills, comparisons, L2 flush, stream hold), which the parent
  /// compiled from support.cu for this GPU. Also takes the ceilings, by which a time can be
  /// implausible. Call it once, before anything below.
  void setup(const std::filesystem::path& support_cubin, const std::optional<Ceilings>& ceilings);

  Ceilings measure_ceilings();
  Vitals vitals();

  /// As Device::cublas_version.
  std::string cublas_version();
  /// On the emulator: checks the output of one launch, or of two where these must be equal to the
  /// bit, and times nothing.
  Outcome run(const TrialRequest& request);
  /// Makes one check of a verification. What it did is the message of a correct outcome.
  Outcome verify(const TrialRequest& request, const VerifySpec& spec);
  /// What the GPU's counters of these names count in one launch, which is checked once before. Each
  /// pass of it finds the L2 cache evicted, unless the protocol of the request is `hot`, and all
  /// inputs as they were. Those that the GPU has not are left out. Throws Failure, CudaError,
  /// Error.
  std::vector<Measurement> count(const TrialRequest& request,
                                 const std::vector<std::string>& names);
  /// Those of the counters that the GPU has. Counts a launch of the harness's own, so that what
  /// forbids it shows. Throws Error, CudaError.
  std::vector<std::string> countable(const std::vector<std::string>& names);
  /// Launches once, and does nothing else that another tool would have to watch: no reference, no
  /// check, and each buffer has memory of its own, of its size. Throws what goes wrong.
  void launch(const TrialRequest& request);
  std::vector<BaselineTiming> run_baselines(const TrialRequest& request,
                                            const std::vector<std::string>& baselines);
  RerankResult rerank(const std::vector<TrialRequest>& candidates,
                      const std::vector<std::string>& baselines, const RerankSpec& spec,
                      int num_workers = 1);

  SelfTest self_test();

  /// Whether a sticky error has made the context unusable.
  bool context_lost() const { return worker_ && worker_->context_lost; }

 private:
  WorkerState& ready();
  /// Runs `task`, whose errors are not those of one configuration. Notes if the context is lost.
  template <typename Task>
  auto noting_loss(const Task& task);

  Driver driver_;
  Context context_;
  DeviceInfo info_;
  Stream stream_;
  std::optional<WorkerState> worker_;
};

}  // namespace assay
