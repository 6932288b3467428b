#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

namespace assay {

/// T4's words (Open Autotuning Results Schema 1.0.0) for what became of a configuration, and one
/// more: `compiled` was compiled and not run, so that nothing says whether its output is right.
enum class Status { correct, compiled, constraints, compile, runtime, timeout, correctness };

std::string_view to_text(Status status);
std::optional<Status> parse_status(std::string_view text);
/// "correct, compiled, ..., correctness", for messages.
std::string known_statuses();

/// Whether a configuration was found not to work. One that was only compiled was not.
bool is_failure(Status status);

/// Whether what failed is the machine and not the configuration: its process was killed, or the
/// GPU's memory was full. `kind` is the status's detail, see Outcome. Such a trial says nothing of
/// its configuration, and is tried again.
bool is_machine_fault(Status status, std::string_view kind);

/// What the compiler reported for one configuration.
struct CompileReport {
  double compile_ms = 0;  // wall time of NVRTC; 0 when the cubin came from the cache
  bool cached = false;
  int registers = 0;    // most of any entry
  int spill_bytes = 0;  // stores + loads, summed over the entries
  int stack_bytes = 0;
  int static_smem_bytes = 0;  // most of any entry
  std::string cubin_hash;     // equal hashes are the same machine code
  bool operator==(const CompileReport&) const = default;
};

/// Why sampling stopped: the interval was as narrow as asked (`precision`), it would not become
/// narrower (`noise`), it lay clearly above the best so far (`raced`), or a limit was reached.
///
/// `unsettled` takes the place of all but `raced` if the clock never came to rest under load.
enum class StopReason { precision, noise, raced, time_limit, sample_limit, unsettled };
std::string_view to_text(StopReason reason);
std::optional<StopReason> parse_stop_reason(std::string_view text);

/// What the driver says of the GPU at one moment.
struct GpuState {
  std::uint64_t throttle_reasons = 0;  // NVML's bits; 0: nothing holds the clocks down
  double power_w = 0;
  double temperature_c = 0;
  bool operator==(const GpuState&) const = default;
};

/// The words for those bits of `throttle_reasons` that slow a busy GPU down, such as "power cap,
/// thermal". Empty for none. The low clock of an idle GPU is not among them.
std::string throttle_text(std::uint64_t throttle_reasons);

/// The times of one configuration under one protocol.
struct Timing {
  std::vector<double> samples_ns = {};  // every sample, in the order taken
  double median_ns = 0;
  double ci_low_ns = 0;  // order-statistic 95 % interval of the median
  double ci_high_ns = 0;
  StopReason stop = StopReason::sample_limit;
  std::vector<double> clocks_mhz = {};  // SM clock of each sample, 0 where unknown; or none at all
  double clock_mhz = 0;                 // median of the known ones; 0 when there is none
  std::optional<GpuState> state = {};   // after the last sample; nothing without NVML
  /// How many samples were taken at a clock so low that something held the GPU down. Most are taken
  /// again. `samples_ns` has one only if too many were like that.
  int num_throttled = 0;
  /// How long sampling was allowed to take; 0 when not known. A median that this limit ended is
  /// asked for again when more is allowed.
  double time_limit_s = 0;
  double roofline_ns = 0;  // least time that the device's ceilings allow; 0 when not known

  /// Whether sampling stopped early, so that the median is known only to be slow.
  bool censored() const { return stop == StopReason::raced; }
  bool operator==(const Timing&) const = default;
};

/// Figures of the output check.
struct Validation {
  double relative_error = 0;  // ||out - ref||_F / ||ref||_F
  double relative_limit = 0;
  double worst_element_ratio = 0;  // max |out - ref| / bound; at most 1 when correct
  std::int64_t elements = 0;       // how many were compared
  std::string reference = {};      // what with: "gemm", "kernel naive of ref.cu"; empty: not known
  bool operator==(const Validation&) const = default;
};

/// What the launches that prepare cost, which are not in the time.
struct Prepared {
  double time_ns = 0;
  std::int64_t bytes = 0;  // of the memory that they fill
  bool operator==(const Prepared&) const = default;
};

/// What became of one configuration. `kind` is the one-word detail of the status
/// (`mismatch`, `unwritten`, `launch`, `illegal_address`, ...), empty for `correct`; `message` is a
/// sentence for people (or NVRTC's log).
struct Outcome {
  Status status = Status::correct;
  std::string kind = {};
  std::string message = {};
  std::optional<Validation> validation = {};
  std::optional<Timing> timing = {};
  double device_ms = 0;  // wall time that the device spent on this trial, check and timing together
  std::optional<Prepared> prepared = {};
  /// The text of the configuration of the same kernel that was run in place of this one: it has the
  /// same machine code and launches. Check and samples are that trial's. Empty: this one was run.
  std::string same_as = {};
  std::string recorded_at = {};  // by a device that replays: UTC
  bool operator==(const Outcome&) const = default;
};

/// What a check of a verification found. A check is skipped where it cannot be made; its message
/// says why.
enum class CheckResult { passed, failed, skipped };
std::string_view to_text(CheckResult result);
std::optional<CheckResult> parse_check_result(std::string_view text);

struct VerificationCheck {
  std::string name;  // "data", "memcheck"
  CheckResult result = CheckResult::passed;
  std::string message = {};  // how much was done, what failed, or why it was skipped
  bool operator==(const VerificationCheck&) const = default;
};

/// What the driver says about a GPU that matters for times measured on it. A field is empty where
/// this GPU or driver does not say.
struct GpuHealth {
  GpuState state;
  std::optional<double> clock_mhz = {};  // of the SMs, now
  std::optional<double> max_clock_mhz = {};
  std::optional<double> memory_clock_mhz = {};
  std::optional<bool> ecc = {};
  std::optional<int> num_processes = {};  // with a context on the GPU, this one included
  bool operator==(const GpuHealth&) const = default;
};

/// The bit of GpuState::throttle_reasons that says that someone has set the clocks.
inline constexpr std::uint64_t kClocksSetReason = 0x2;

/// The version of a kernel that a result belongs to.
struct KernelVersion {
  std::string name;
  std::string op;
  std::string source_hash;    // the .cu and every header it includes; also the reference's own
  std::string contract_hash;  // KernelSpec::contract_hash
  bool operator==(const KernelVersion&) const = default;
};

/// The software that a result was compiled and measured with.
struct Toolchain {
  std::string nvrtc;    // "13.0"
  std::string arch;     // "90a"
  std::string options;  // NVRTC's, without -D
  std::string driver;   // "580.159.04"
  bool operator==(const Toolchain&) const = default;
};

/// How a time was taken. Times of different protocols are never compared.
struct Protocol {
  std::string name = "cold";
  double precision_ratio = 0.005;
  bool operator==(const Protocol&) const = default;
};

/// A figure of a trial beside its time, such as a hardware counter. `unit` is empty for a count.
struct Measurement {
  std::string name;
  double value = 0;
  std::string unit;
  bool operator==(const Measurement&) const = default;
};

/// What `assay verify` found of a trial's configuration, and with which software.
struct Verification {
  std::vector<VerificationCheck> checks;
  Toolchain toolchain;
  std::string finished_at;  // UTC, as of a trial

  /// The first check that failed; null when none did.
  const VerificationCheck* failure() const {
    for (const VerificationCheck& check : checks) {
      if (check.result == CheckResult::failed) return &check;
    }
    return nullptr;
  }
  bool operator==(const Verification&) const = default;
};

/// What a trial is keyed by, so that nothing measured under other conditions is ever reused.
struct TrialKey {
  KernelVersion kernel;
  Toolchain toolchain;
  Protocol protocol;
  Problem problem;
  Config config;
};

/// One finished trial with everything that identifies it.
struct TrialRecord : TrialKey {
  CompileReport compile;
  Outcome outcome;
  std::string finished_at;  // UTC, "2026-11-21T10:00:00Z"
  std::vector<Measurement> measurements = {};
  std::optional<Verification> verification = {};  // the newest
};

/// A baseline's time for one op and problem.
struct BaselineRecord {
  std::string op;
  Problem problem;
  Protocol protocol;
  Toolchain toolchain;
  std::string name;    // "cublaslt_best"
  std::string detail;  // "algorithm 2 of 8"
  Timing timing;
  std::string finished_at;
  std::string cublas = {};         // version, "13.1.0.3"; empty when not known
  std::string contract_hash = {};  // of the kernel whose contract gave inputs and shapes
};

}  // namespace assay
