#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/trial.h"
#include "space/plan.h"
#include "spec/sweep_spec.h"

/// The requests of the parent and the answers of a worker, as plain data. No CUDA type is in them.

namespace assay {

/// The emulator among the GPUs, which count from 0: kernels run on the CPU, and no time is one.
inline constexpr int kEmulatorIndex = -1;

/// How long the worker may load the GPU before a sample, and rest after one. The parent's watchdog
/// allows for both.
inline constexpr double kLongestSettleSeconds = 3;
inline constexpr double kLongestRestSeconds = 0.01;

/// What the device can do at most; measured once per device and driver, and cached.
struct Ceilings {
  double copy_bytes_per_s = 0;  // device-to-device copy, bytes read plus bytes written
  double read_bytes_per_s = 0;  // plain read of a buffer much larger than L2
  double l2_bytes_per_s = 0;    // plain read of a buffer that L2 holds
  // Dense products of random data, with tensor cores where the GPU has them for the type; of f32
  // without any.
  double bf16_flops_per_s = 0;
  double fp8_flops_per_s = 0;
  double tf32_flops_per_s = 0;
  double f32_flops_per_s = 0;
  double f64_flops_per_s = 0;
  double i8_flops_per_s = 0;
  double launch_ns = 0;       // of a kernel that does nothing
  double next_launch_ns = 0;  // each further launch of it
  double clock_mhz = 0;       // the SM clock of short work then; at another clock, measure again
  bool operator==(const Ceilings&) const = default;
};

/// What a worker knows about its GPU before it measures.
struct Vitals {
  double clock_mhz = 0;                   // the SM clock of short work; 0 when not known
  std::optional<int> num_processes = {};  // with a context on the GPU, the worker included
  bool mps = false;                       // CUDA's multi-process service has programs run at once
  bool operator==(const Vitals&) const = default;
};

/// One configuration to run: its resolved contract and its machine code.
struct TrialRequest {
  Plan plan;
  std::filesystem::path cubin_path;
  MeasureSpec measure;
  std::uint64_t seed = 1;  // of the inputs
  /// Median of the fastest configuration of this problem so far. A configuration that is clearly
  /// slower stops early. Nothing: measure it in full.
  std::optional<double> best_ns = {};
  /// Its own median of the screening. The watchdog of a re-rank takes from it how long is too long.
  std::optional<double> screened_ns = {};
  bool operator==(const TrialRequest&) const = default;
};

/// The time of a baseline, which a user would run instead, under the same protocol.
struct BaselineTiming {
  std::string name;    // "cublaslt_first", "cublaslt_best"
  std::string detail;  // "algorithm 2 of 8, workspace 32 MiB", or its steps, each timed alone
  Timing timing;
  std::string failure = {};  // why it does not count: it is wrong, or cannot run; it has no time
  std::string recorded_at = {};  // by a device that replays: UTC
  bool operator==(const BaselineTiming&) const = default;
};

/// The times of one entry of a re-rank: one for each round that it took part in.
struct RerankEntry {
  std::string name;                     // the configuration's text, or the baseline's name
  std::vector<double> samples_ns;       // one per round
  Outcome outcome;                      // correct, or how it failed its last check
  std::vector<double> clocks_mhz = {};  // SM clock of each sample, 0 where unknown
  bool eliminated = false;              // dropped out after the first rounds
  double energy_j = 0;                  // per launch; 0 when it was not asked for
  bool operator==(const RerankEntry&) const = default;
};

/// One check of `assay verify`: "data", "launches" or "streams".
struct VerifySpec {
  std::string name;
  int count = 0;           // seeds, or launches
  double max_seconds = 0;  // then it ends with what it has done
  bool operator==(const VerifySpec&) const = default;
};

struct RerankResult {
  std::vector<RerankEntry> candidates;  // in the order asked
  std::vector<RerankEntry> baselines;
  std::optional<RerankEntry> duplicate = {};  // the A/A duplicate of one candidate
  std::size_t duplicate_of = 0;               // which one
  std::string recorded_at = {};               // by a device that replays: UTC
  bool operator==(const RerankResult&) const = default;
};

/// Figures that tell whether this GPU can be trusted to measure. report/doctor_view.h judges them.
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
  bool operator==(const SelfTest&) const = default;
};
}  // namespace assay
