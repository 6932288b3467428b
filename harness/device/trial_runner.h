#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/gpu_health.h"
#include "device/device.h"

namespace assay {

/// Runs trials on one GPU, inside the worker process: load, seed inputs, poison outputs, launch,
/// check, time. Everything a configuration does comes back as an Outcome; after an outcome for
/// which context_lost() is true the process must be replaced.
class TrialRunner {
 public:
  /// Loads libcuda and retains the primary context of GPU `index`. Throws Error with a sentence
  /// (no driver, no such GPU, out of memory).
  explicit TrialRunner(int index);
  ~TrialRunner();

  const DeviceInfo& info() const;

  /// Loads the harness's own kernels (fills, comparisons, L2 flush, stream hold), compiled by the
  /// parent from device/support.cu for this GPU, and takes the ceilings that make a time
  /// implausible. Called once, before anything below.
  void setup(const std::filesystem::path& support_cubin, const std::optional<Ceilings>& ceilings);

  Ceilings measure_ceilings();
  Vitals vitals();

  Outcome run(const TrialRequest& request);
  std::vector<BaselineTiming> run_baselines(const TrialRequest& request,
                                            const std::vector<std::string>& baselines);
  RerankResult rerank(const std::vector<TrialRequest>& candidates,
                      const std::vector<std::string>& baselines, const RerankSpec& spec,
                      int num_workers = 1);

  /// Figures that tell whether this GPU can be trusted to measure; report/doctor_view.h judges
  /// them.
  struct SelfTest {
    double empty_event_ns = 0;       // two events with nothing between
    double empty_kernel_ns = 0;      // two events around an empty kernel
    double cold_read_ns = 0;         // reading 32 MiB after a flush
    double hot_read_ns = 0;          // reading it again
    double dirty_read_ns = 0;        // reading it after a memset of the flush buffer instead
    double repeat_spread_ratio = 0;  // (max-min)/median of medians of one kernel measured 5 times
    double clock_mhz = 0;            // the SM clock during short work; 0 when not known
    double noise_floor_ratio = 0;    // least margin that a re-rank can claim, for that read
    std::optional<GpuHealth> health = {};  // nothing without NVML
  };
  SelfTest self_test();

  /// Whether a sticky error has made the context useless.
  bool context_lost() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
