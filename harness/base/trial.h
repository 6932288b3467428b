#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// T4's words (Open Autotuning Results Schema 1.0.0) for what became of a configuration.
enum class Status { correct, constraints, compile, runtime, timeout, correctness };

std::string_view to_text(Status status);
std::optional<Status> parse_status(std::string_view text);

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

/// Why sampling stopped.
enum class StopReason { precision, time_limit, sample_limit };
std::string_view to_text(StopReason reason);
std::optional<StopReason> parse_stop_reason(std::string_view text);

/// The times of one configuration under one protocol.
struct Timing {
  std::vector<double> samples_ns;  // every sample, in the order taken
  double median_ns = 0;
  double ci_low_ns = 0;  // order-statistic 95 % interval of the median
  double ci_high_ns = 0;
  StopReason stop = StopReason::sample_limit;
};

/// Figures of the output check.
struct Validation {
  double relative_error = 0;  // ||out - ref||_F / ||ref||_F
  double relative_limit = 0;
  double worst_element_ratio = 0;  // max |out - ref| / bound; at most 1 when correct
  std::int64_t elements = 0;       // how many were compared
};

/// What became of one configuration. `kind` is the one-word detail of DESIGN's status table
/// (`mismatch`, `unwritten`, `launch`, `illegal_address`, ...), empty for `correct`; `message` is a
/// sentence for people (or NVRTC's log).
struct Outcome {
  Status status = Status::correct;
  std::string kind;
  std::string message;
  std::optional<Validation> validation;
  std::optional<Timing> timing;
  double device_ms = 0;  // wall time that the device spent on this trial, check and timing together
};

}  // namespace assay
