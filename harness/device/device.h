#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/device_info.h"
#include "base/trial.h"
#include "space/plan.h"
#include "spec/sweep_spec.h"

namespace assay {

/// What the device can do at most; measured once per device and driver, and cached.
struct Ceilings {
  double copy_bytes_per_s = 0;  // device-to-device copy, bytes read plus bytes written
  double read_bytes_per_s = 0;  // plain read of a buffer much larger than L2
  double bf16_flops_per_s = 0;  // dense tensor-core product, random data
  double f32_flops_per_s = 0;   // dense product without tensor cores
  double clock_mhz = 0;         // the SM clock of short work then; another clock, other ceilings
};

/// What a worker sees of its GPU before it measures.
struct Vitals {
  double clock_mhz = 0;                   // the SM clock of short work; 0 when not known
  std::optional<int> num_processes = {};  // with a context on the GPU, the worker included
};

/// One configuration to run: its resolved contract and its machine code.
struct TrialRequest {
  Plan plan;
  std::filesystem::path cubin_path;
  MeasureSpec measure;
  std::uint64_t seed = 1;  // of the inputs
  /// Median of the fastest configuration of this problem so far: what is clearly slower stops
  /// early. Nothing: it is measured in full.
  std::optional<double> best_ns = {};
  /// Its own median of the screening, from which a re-rank's watchdog knows how long is too long.
  std::optional<double> screened_ns = {};
};

/// One of the things a user would run instead, timed under the same protocol.
struct BaselineTiming {
  std::string name;    // "cublaslt_first", "cublaslt_best"
  std::string detail;  // "algorithm 2 of 8, workspace 32 MiB"
  Timing timing;
};

/// Times of the re-ranked, taken in turn: one column per entrant, one row per round.
struct RerankEntry {
  std::string name;                     // the configuration's text, or the baseline's name
  std::vector<double> samples_ns;       // one per round
  Outcome outcome;                      // correct, or how it failed its last check
  std::vector<double> clocks_mhz = {};  // SM clock of each sample, 0 where unknown
  bool eliminated = false;              // left after the first rounds: slower, or beyond the top
  double energy_j = 0;                  // per launch; 0 when it was not asked for
};

struct RerankResult {
  std::vector<RerankEntry> candidates;  // in the order asked
  std::vector<RerankEntry> baselines;
  std::optional<RerankEntry> twin = {};  // one candidate's cubin, entered a second time
  std::size_t twin_of = 0;               // which candidate's
};

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
