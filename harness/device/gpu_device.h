#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "device/device.h"

namespace assay {

struct GpuOptions {
  int index = 0;
  /// The program to start as the worker: `PROGRAM worker --fd N --device INDEX`. Empty: this one
  /// (/proc/self/exe).
  std::filesystem::path worker_program;
  /// A trial that takes longer than this beyond what its measuring may take is a hang.
  double hang_timeout_s = 10;
  /// How many workers may die in a row without answering anything before the GPU counts as lost.
  int max_failed_starts = 3;
};

/// A GPU behind a worker process. The process holds the CUDA context and nothing else does: it
/// talks over a socketpair, is killed by a watchdog when it hangs, dies with its parent, and is
/// replaced after a hang, a crash or a sticky error, which cost the one trial that caused them.
class GpuDevice : public Device {
 public:
  /// Starts the worker and reads what GPU it has. Throws Error (no driver, no GPU).
  explicit GpuDevice(GpuOptions options);
  ~GpuDevice() override;

  /// Gives the worker (and each replacement) the harness's own kernels and the ceilings.
  void setup(const std::filesystem::path& support_cubin, const std::optional<Ceilings>& ceilings);

  const DeviceInfo& info() const override;
  const std::string& provenance() const override;
  Outcome run(const TrialRequest& request) override;
  std::vector<BaselineTiming> run_baselines(const TrialRequest& request,
                                            const std::vector<std::string>& baselines) override;
  RerankResult rerank(const std::vector<TrialRequest>& candidates,
                      const std::vector<std::string>& baselines, const RerankSpec& spec) override;

  Ceilings measure_ceilings();
  Vitals vitals();
  SelfTest self_test();

  /// How many workers were started, the first included.
  int num_workers_started() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
