#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/trial.h"
#include "device/device.h"

namespace assay {

struct GpuOptions {
  int index = 0;  // or kEmulatorIndex
  /// The program to start as the worker: `PROGRAM worker --fd N --device INDEX`. Empty: this one
  /// (/proc/self/exe).
  std::filesystem::path worker_program;
  /// If a trial takes longer than this, beyond the time for its measuring, it hangs.
  double hang_timeout_s = 10;
};

class GpuWorkers;
struct WorkerRerank;

/// A GPU behind a worker process. Only that process holds the CUDA context. The two talk over a
/// socketpair.
///
/// A watchdog kills the worker when it hangs. It dies when its parent dies. After a hang, a crash
/// or a sticky error it is replaced, which costs only the trial that caused it. If somebody else
/// kills it, the trial is run once more.
class GpuDevice : public Device {
 public:
  /// Starts the worker and reads what GPU it has. Throws Error (no driver, no GPU).
  explicit GpuDevice(GpuOptions options);
  ~GpuDevice() override;

  /// Gives the worker (and each replacement) the harness's own kernels and the ceilings.
  void setup(const std::filesystem::path& support_cubin, const std::optional<Ceilings>& ceilings);

  const DeviceInfo& info() const override;
  std::string cublas_version() override;
  /// On the emulator a correct outcome has no times.
  Outcome run(const TrialRequest& request) override;
  std::vector<BaselineTiming> run_baselines(const TrialRequest& request,
                                            const std::vector<std::string>& baselines) override;
  RerankResult rerank(const std::vector<TrialRequest>& candidates,
                      const std::vector<std::string>& baselines, const RerankSpec& spec) override;

  /// Makes one check of a verification. What it did is the message of a correct outcome.
  Outcome verify(const TrialRequest& request, const VerifySpec& spec);

  std::vector<Measurement> count(const TrialRequest& request,
                                 const std::vector<std::string>& names) override;
  std::vector<std::string> countable(const std::vector<std::string>& names) override;

  /// Has a tool of compute-sanitizer watch one launch, in another process.
  VerificationCheck sanitize(const std::filesystem::path& sanitizer, std::string_view tool,
                             const TrialRequest& request);

  Ceilings measure_ceilings();
  Vitals vitals();
  SelfTest self_test();

  /// How many workers were started, the first included.
  int num_workers_started() const;

 private:
  std::optional<Outcome> rerank_part(const WorkerRerank& part, RerankResult& reranked);
  double rerank_timeout_s(const WorkerRerank& part) const;
  double timeout_s(const MeasureSpec& measure, std::size_t times = 1) const;

  std::unique_ptr<GpuWorkers> workers_;
};

/// What one worker is asked for: the whole of Device::rerank, or its share of the rounds.
struct WorkerRerank {
  std::vector<TrialRequest> candidates;
  std::vector<std::string> baselines;
  RerankSpec spec;
  int num_workers = 1;  // that share the rounds
};

/// Makes a worker do its part. If the worker or its context does not survive, returns what went
/// wrong; by then the worker has been replaced.
using RerankAttempt =
    std::function<std::optional<Outcome>(const WorkerRerank& part, RerankResult& result)>;

/// Device::rerank by worker processes. A candidate may kill a worker, or lose the worker's context.
/// Then each candidate is tried alone. A candidate that fails alone, too, gets the failure as its
/// outcome, and the others are re-ranked anew.
///
/// Short work is divided over several workers. Between two of them, `take_next` goes on with
/// another one. A candidate that has dropped out in one does not take part in the next.
RerankResult rerank_by_workers(WorkerRerank whole, const RerankAttempt& attempt,
                               const std::function<void()>& take_next);

}  // namespace assay
