#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/rank.h"

// What stored records are made of, told once. fields() calls a visitor with each member of a record
// and what it is called; what has no name here is lost on the way. Visitors fill and read rows of
// the database (row_fields.h), and write and read lines of recordings (recording_write.cpp,
// recording_read.cpp).

namespace assay {

/// How a recording writes a member, and what it says where the member is not there. What follows
/// from samples is in no recording: whoever reads one computes it.
enum How : unsigned {
  kAsItIs = 0,
  kMilliseconds = 1,  // of nanoseconds, to a tenth of one
  kMicroseconds = 2,  // milliseconds, to a thousandth of one
  kSixDigits = 4,
  kClocks = 8,     // in whole MHz; else a list of numbers is one of samples
  kFigures = 16,   // else pairs of names and numbers are a problem
  kLenient = 32,   // written always; where it is missing, it is 0 or empty
  kOptional = 64,  // likewise, and left out where it is 0, false or empty
  kIfKnown = 128   // likewise, and NULL in the database: 0 stands for what is not known
};

/// What a member, or several, are called.
struct Field {
  const char* column;  // or several, with ", " between them; see also kNoColumn and kHere
  const char* key;     // "object/key" where it is within an object; null: in no recording
  unsigned how = kAsItIs;
  double absent = 0;  // the number that is left out

  constexpr Field(const char* both, unsigned how_ = kAsItIs) : Field(both, both, how_) {}
  constexpr Field(const char* of_database, const char* of_recording, unsigned how_ = kAsItIs,
                  double left_out = 0)
      : column(of_database), key(of_recording), how(how_), absent(left_out) {}

  constexpr bool is(unsigned flags) const { return (how & flags) != 0; }
};

/// Not in the row of its record: in rows of another table, or computed.
inline constexpr const char* kNoColumn = nullptr;
/// A record whose own columns stand here.
inline constexpr const char* kHere = "";

/// The table of a record's rows; empty where the columns are another record's.
template <class Record>
inline constexpr std::string_view kTable = "";
#define ASSAY_TABLE(Record, name) \
  template <>                     \
  inline constexpr std::string_view kTable<Record> = name
ASSAY_TABLE(DeviceInfo, "device");
ASSAY_TABLE(KernelVersion, "kernel");
ASSAY_TABLE(Toolchain, "toolchain");
ASSAY_TABLE(Protocol, "protocol");
ASSAY_TABLE(Timing, "timing");
ASSAY_TABLE(Validation, "validation");
ASSAY_TABLE(TrialRecord, "trial");
ASSAY_TABLE(BaselineRecord, "baseline");
ASSAY_TABLE(RankRecord, "rank");
ASSAY_TABLE(RankEntry, "rank_entry");
ASSAY_TABLE(NoiseFloor, "rank_noise");
ASSAY_TABLE(Measurement, "measurement");
ASSAY_TABLE(VerificationCheck, "verification_check");
#undef ASSAY_TABLE

/// A record that other records refer to: the database has it once, and so has a recording.
template <class T>
concept Shared =
    std::same_as<T, KernelVersion> || std::same_as<T, Toolchain> || std::same_as<T, Protocol>;

/// A text that stands for a value: how it is read, and what is taken for another text of a database
/// that is not checked.
template <class T>
struct Words;
template <>
struct Words<Status> {
  static constexpr auto parse = parse_status;
  static constexpr Status otherwise = Status::runtime;
  inline static const std::string expected = "'invalidity' is none of " + known_statuses();
};
template <>
struct Words<StopReason> {
  static constexpr auto parse = parse_stop_reason;
  static constexpr StopReason otherwise = StopReason::sample_limit;
  static constexpr const char* expected =
      "'stop' is not precision, noise, raced, time_limit, sample_limit or unsettled";
};
template <>
struct Words<CheckResult> {
  static constexpr auto parse = parse_check_result;
  static constexpr CheckResult otherwise = CheckResult::failed;
  static constexpr const char* expected = "'result' of a check is not passed, failed or skipped";
};
template <>
struct Words<Objective> {
  static constexpr auto parse = parse_objective;
  inline static const Objective otherwise = {};
  static constexpr const char* expected = "'objective' is not time, energy, edp or a metric";
};
template <class T>
concept Word = requires {
  Words<T>::parse;
};

template <class T, class Record>
concept Of = std::same_as<std::remove_const_t<T>, Record>;

template <class Visit, Of<DeviceInfo> Record>
void fields(Visit& visit, Record& device) {
  visit({"name"}, device.name);
  visit({"uuid", kLenient}, device.uuid);
  visit({"driver", kLenient}, device.driver);
  visit({"cc", kLenient}, device.cc);
  visit({"sm_count", kLenient}, device.sm_count);
  visit({"smem_optin_bytes", kLenient}, device.smem_optin_bytes);
  visit({"l2_bytes", kLenient}, device.l2_bytes);
  visit({"memory_bytes", kLenient}, device.memory_bytes);
}

template <class Visit, Of<KernelVersion> Record>
void fields(Visit& visit, Record& kernel) {
  visit({"name"}, kernel.name);
  visit({"op"}, kernel.op);
  visit({"source_hash"}, kernel.source_hash);
  visit({"contract_hash"}, kernel.contract_hash);
}

template <class Visit, Of<Toolchain> Record>
void fields(Visit& visit, Record& toolchain) {
  visit({"nvrtc"}, toolchain.nvrtc);
  visit({"arch"}, toolchain.arch);
  visit({"options"}, toolchain.options);
  visit({"driver"}, toolchain.driver);
}

template <class Visit, Of<Protocol> Record>
void fields(Visit& visit, Record& protocol) {
  visit({"name"}, protocol.name);
  visit({"precision_ratio"}, protocol.precision_ratio);
}

/// All but the time of the compiler, which a recording has among other times.
template <class Visit, Of<CompileReport> Record>
void fields(Visit& visit, Record& report) {
  visit({"cached", kOptional}, report.cached);
  visit({"registers", kOptional}, report.registers);
  visit({"spill_bytes", kOptional}, report.spill_bytes);
  visit({"stack_bytes", kOptional}, report.stack_bytes);
  visit({"static_smem_bytes", kOptional}, report.static_smem_bytes);
  visit({"cubin_hash", kOptional}, report.cubin_hash);
}

template <class Visit, Of<GpuState> Record>
void fields(Visit& visit, Record& state) {
  visit({"throttle_reasons"}, state.throttle_reasons);
  visit({"power_w", kSixDigits | kLenient}, state.power_w);
  visit({"temperature_c", kSixDigits | kLenient}, state.temperature_c);
}

/// In a recording the samples are not among the fields, but before them, at "times/runtimes". Their
/// clocks are read from older ones only.
template <class Visit, Of<Timing> Record>
void fields(Visit& visit, Record& timing) {
  visit({"times_ns", nullptr}, timing.samples_ns);
  visit({"median_ns, ci_low_ns, ci_high_ns", nullptr}, timing.median_ns, timing.ci_low_ns,
        timing.ci_high_ns);
  visit({"stop"}, timing.stop);
  visit({"clocks_mhz", kClocks | kOptional}, timing.clocks_mhz);
  visit({"clock_mhz", kClocks | kOptional}, timing.clock_mhz);
  visit({kHere, "gpu_state"}, timing.state);
  visit({"num_throttled", kOptional}, timing.num_throttled);
  visit({"time_limit_s", kSixDigits | kIfKnown}, timing.time_limit_s);
  visit({"roofline_ns", "roofline", kMilliseconds | kIfKnown}, timing.roofline_ns);
}

template <class Visit, Of<Validation> Record>
void fields(Visit& visit, Record& validation) {
  visit({"relative_error", "error", kSixDigits | kLenient}, validation.relative_error);
  visit({"relative_limit", "limit", kSixDigits | kLenient}, validation.relative_limit);
  visit({"worst_element_ratio", "worst", kSixDigits | kLenient}, validation.worst_element_ratio);
  visit({"elements", kLenient}, validation.elements);
  visit({"reference", kOptional}, validation.reference);
}

template <class Visit, Of<Prepared> Record>
void fields(Visit& visit, Record& prepared) {
  visit({"prepare_ns", "time", kMilliseconds | kLenient}, prepared.time_ns);
  visit({"prepared_bytes", "bytes", kLenient}, prepared.bytes);
}

template <class Visit, Of<Measurement> Record>
void fields(Visit& visit, Record& measurement) {
  visit({"name"}, measurement.name);
  visit({"value", kLenient}, measurement.value);
  visit({"unit", kLenient}, measurement.unit);
}

template <class Visit, Of<VerificationCheck> Record>
void fields(Visit& visit, Record& check) {
  visit({"name"}, check.name);
  visit({"result"}, check.result);
  visit({"message", kOptional}, check.message);
}

template <class Visit, Of<Verification> Record>
void fields(Visit& visit, Record& verification) {
  visit({"finished_at", "timestamp"}, verification.finished_at);
  visit({"toolchain_id", "toolchain"}, verification.toolchain);
  visit({kNoColumn, "checks"}, verification.checks);
}

template <class Visit, Of<TrialRecord> Record>
void fields(Visit& visit, Record& trial) {
  auto& outcome = trial.outcome;
  visit({"finished_at", "timestamp", kLenient}, trial.finished_at);
  visit({"kernel_id", "kernel"}, trial.kernel);
  visit({"toolchain_id", "toolchain"}, trial.toolchain);
  visit({"protocol_id", "protocol"}, trial.protocol);
  visit({"problem_id", "problem"}, trial.problem);
  visit({"config_id", "configuration"}, trial.config);
  visit({"compile_ms", "times/compilation_time", kMicroseconds | kLenient},
        trial.compile.compile_ms);
  visit({"status", "invalidity"}, outcome.status);
  visit({"kind", "detail", kOptional}, outcome.kind);
  visit({"message", kOptional}, outcome.message);
  visit({"timing_id", "times/runtimes"}, outcome.timing);
  visit({kNoColumn, "measurements", kOptional}, trial.measurements);
  visit({"validation.trial_id", "validation"}, outcome.validation);
  visit({kHere, "compile", kOptional}, trial.compile);
  visit({kHere, "prepared"}, outcome.prepared);
  visit({"same_as", kOptional}, outcome.same_as);
  visit({"device_ms", kMicroseconds | kOptional}, outcome.device_ms);
  visit({kNoColumn, "verification"}, trial.verification);
}

template <class Visit, Of<BaselineRecord> Record>
void fields(Visit& visit, Record& baseline) {
  visit({"finished_at", "timestamp", kLenient}, baseline.finished_at);
  visit({"name", "baseline"}, baseline.name);
  visit({"op"}, baseline.op);
  visit({"toolchain_id", "toolchain"}, baseline.toolchain);
  visit({"protocol_id", "protocol"}, baseline.protocol);
  visit({"problem_id", "problem"}, baseline.problem);
  visit({"detail", kLenient}, baseline.detail);
  visit({"cublas", kOptional}, baseline.cublas);
  visit({"contract_hash", kOptional}, baseline.contract_hash);
  visit({"timing_id", "times/runtimes"}, baseline.timing);
}

template <class Visit, Of<RankEntry> Record>
void fields(Visit& visit, Record& entry) {
  const auto ratio = [&visit](const char* columns, auto& interval, unsigned how = kAsItIs) {
    visit({columns, nullptr, how}, interval.value, interval.low, interval.high);
  };
  visit({"kernel", kOptional}, entry.kernel);
  visit({"config", kOptional}, entry.config);
  visit({"median_ns", nullptr}, entry.median_ns);
  ratio("ratio_to_best, ratio_low, ratio_high", entry.ratio_to_best);
  ratio("speedup, speedup_low, speedup_high", entry.speedup_over_baseline);
  visit({"winner", kOptional}, entry.winner);
  visit({"tied", nullptr}, entry.tied);
  visit({"failure", kOptional}, entry.failure);
  visit({"eliminated", kOptional}, entry.eliminated);
  visit({"times_ns", "runtimes"}, entry.samples_ns);
  visit({"clocks_mhz", kClocks | kOptional}, entry.clocks_mhz);
  ratio("cycles_ratio_to_best, cycles_ratio_low, cycles_ratio_high", entry.cycles_ratio_to_best,
        kIfKnown);
  visit({"energy_j", kSixDigits | kIfKnown}, entry.energy_j);
  visit({"roofline_ns", "roofline", kMilliseconds | kIfKnown}, entry.roofline_ns);
  visit({"figures", kFigures | kOptional}, entry.figures);
}

template <class Visit, Of<NoiseFloor> Record>
void fields(Visit& visit, Record& noise) {
  visit({"kernel", kOptional}, noise.kernel);
  visit({"config", kOptional}, noise.config);
  visit({"ratio, ratio_low, ratio_high", nullptr}, noise.ratio.value, noise.ratio.low,
        noise.ratio.high);
  visit({"times_ns", "runtimes"}, noise.samples_ns);
}

template <class Visit, Of<RankIdentity> Record>
void fields(Visit& visit, Record& identity) {
  visit({"candidates"}, identity.candidates);
  visit({"num_candidates", kLenient}, identity.num_candidates);
  visit({"top", kLenient}, identity.top);
  visit({"least_rounds", kLenient}, identity.least_rounds);
  visit({"asked_objective", "objective"}, identity.objective);
  visit({"baselines"}, identity.baselines);
  visit({"cublas", kOptional}, identity.cublas);
  visit({"precision_ratio", "precision_ratio", kOptional, RankIdentity{}.precision_ratio},
        identity.precision_ratio);
}

template <class Visit, Of<RankRecord> Record>
void fields(Visit& visit, Record& rank) {
  visit({"finished_at", "timestamp", kLenient}, rank.finished_at);
  visit({"op"}, rank.op);
  visit({"protocol_id", "protocol"}, rank.protocol);
  visit({"problem_id", "problem"}, rank.problem);
  visit({"rounds"}, rank.rounds);
  visit({kNoColumn, "rank"}, rank.entries);
  visit({"objective", kOptional}, rank.objective);
  if (visit.has("identity", !rank.identity.candidates.empty())) {
    visit({kHere, "identity"}, rank.identity);
    visit({"toolchain_id", "toolchain"}, rank.toolchain);
    visit({kNoColumn, "kernels"}, rank.kernels);
  }
  visit({kNoColumn, "noise"}, rank.noise);
}

/// What fields() describes.
struct AnyVisitor {
  template <class... Members>
  void operator()(const Field& field, Members&... members);
  bool has(const char* key, bool is_there);
};
template <class T>
concept Described = requires(AnyVisitor visitor, T& record) {
  fields(visitor, record);
};

/// Of std::optional<T> and of T: T.
template <class T>
struct Held {
  using Type = T;
};
template <class T>
struct Held<std::optional<T>> {
  using Type = T;
};

}  // namespace assay
