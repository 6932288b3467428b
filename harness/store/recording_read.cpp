#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/bounded_json.h"
#include "base/error.h"
#include "store/gzip.h"
#include "store/recording_parts.h"
#include "store/store.h"

namespace assay {
namespace {

using namespace recording_parts;

// A line refers to a kernel, toolchain or protocol either by the object itself, or by the number of
// the line that defined it. Returns the object.
template <class Thing, class Read>
Thing resolve(const Json& value, const char* key, const std::vector<Thing>& known,
              Read read_thing) {
  if (value.IsObject()) return read_thing(value);
  const auto index = integer<std::size_t>(value, key);
  if (index >= known.size()) {
    throw Damage(
        fmt::format("'{}' is {}, but only {} are defined above", key, index, known.size()));
  }
  return known[index];
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path), lines_(path) {}

  /// Reads on for so many records, or to the end. Nothing when there is no more.
  std::optional<Recording> next(std::size_t max_records) {
    if (at_end_) return std::nullopt;
    const auto num_records = [this] {
      return recording_.trials.size() + recording_.baselines.size() + recording_.ranks.size();
    };
    while (!at_end_ && num_records() < max_records) {
      const std::optional<std::string_view> line = lines_.next();
      at_end_ = !line;
      if (line) read_line(*line);
    }
    if (!has_header_) {
      throw UsageError(fmt::format("{}:1: no recording: the file is empty", path_.string()));
    }
    Recording rest{recording_.sweep, recording_.device, recording_.recorded_at, {}, {}, {}};
    return std::exchange(recording_, std::move(rest));
  }

 private:
  void read_line(std::string_view line) {
    ++line_number_;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    const std::string where = fmt::format("{}:{}", path_.string(), line_number_);
    if (line_number_ == 1 && line.starts_with("SQLite format 3")) {
      throw UsageError(
          fmt::format("{}: expected a recording, found a database; `assay db merge` "
                      "joins databases",
                      path_.string()));
    }
    check_json(line, where);
    try {
      const Json* json = parser_.parse(line);
      if (!json) throw Damage("not a line of JSON");
      read_thing(*json, line.size());
    } catch (const Damage& damage) {
      throw UsageError(fmt::format("{}: {}", where, damage.what()));
    }
  }

  void read_thing(const Json& line, std::size_t num_bytes) {
    if (!line.IsObject()) throw Damage("not a JSON object");
    if (!has_header_) return read_header(line);
    if (find(line, "define_kernel")) {
      kernels_.push_back(read_kernel(object_member(line, "define_kernel")));
    } else if (find(line, "define_toolchain")) {
      toolchains_.push_back(read_toolchain(object_member(line, "define_toolchain")));
    } else if (find(line, "define_protocol")) {
      protocols_.push_back(read_protocol(object_member(line, "define_protocol")));
    } else if (find(line, "configuration")) {
      recording_.trials.push_back(read_trial(whole(line, trial_, num_bytes)));
    } else if (find(line, "baseline")) {
      recording_.baselines.push_back(read_baseline(whole(line, baseline_, num_bytes)));
    } else if (find(line, "rank")) {
      recording_.ranks.push_back(read_rank(line));
    } else {
      throw Damage("neither a trial ('configuration'), a 'baseline', a 'rank' nor a definition");
    }
  }

  /// In the first format each line is whole.
  const Json& whole(const Json& line, Continued& before, std::size_t num_bytes) const {
    return version_ == 1 ? line : before.whole(line, num_bytes);
  }

  void read_header(const Json& line) {
    version_ = integer<int>(member(line, "assay_recording"), "assay_recording");
    if (version_ != 1 && version_ != 2) {
      throw Damage(fmt::format("recording format {}; this assay reads 1 and 2", version_));
    }
    recording_.sweep = text(line, "sweep");
    if (!is_one_line(recording_.sweep)) throw Damage("'sweep' has control characters");
    recording_.recorded_at = text(line, "recorded_at");
    if (!is_one_line(recording_.recorded_at)) throw Damage("'recorded_at' has control characters");
    const Json& json = object_member(line, "device");
    DeviceInfo& device = recording_.device;
    device.name = text(json, "name");
    read(json, "uuid", device.uuid);
    read(json, "driver", device.driver);
    read(json, "cc", device.cc);
    read(json, "sm_count", device.sm_count);
    read(json, "smem_optin_bytes", device.smem_optin_bytes);
    read(json, "l2_bytes", device.l2_bytes);
    read(json, "memory_bytes", device.memory_bytes);
    device = supported(std::move(device));
    has_header_ = true;
  }

  TrialRecord read_trial(const Json& line) {
    TrialRecord trial;
    trial.kernel = resolve(member(line, "kernel"), "kernel", kernels_, read_kernel);
    trial.toolchain = resolve(member(line, "toolchain"), "toolchain", toolchains_, read_toolchain);
    trial.protocol = resolve(member(line, "protocol"), "protocol", protocols_, read_protocol);
    trial.problem = read_problem(line);
    trial.config = read_config(line);
    read(line, "timestamp", trial.finished_at);
    const Json& times = object_member(line, "times");
    trial.compile.compile_ms = number_or_zero(times, "compilation_time");
    if (find(line, "compile")) {
      const Json& report = object_member(line, "compile");
      read(report, "cached", trial.compile.cached);
      read(report, "registers", trial.compile.registers);
      read(report, "spill_bytes", trial.compile.spill_bytes);
      read(report, "stack_bytes", trial.compile.stack_bytes);
      read(report, "static_smem_bytes", trial.compile.static_smem_bytes);
      read(report, "cubin_hash", trial.compile.cubin_hash);
    }
    Outcome& outcome = trial.outcome;
    const auto status = parse_status(text(line, "invalidity"));
    if (!status) {
      throw Damage(fmt::format("'invalidity' is '{}'; expected one of {}", text(line, "invalidity"),
                               known_statuses()));
    }
    outcome.status = *status;
    if (const Json* json = find(line, "correctness")) {
      const auto correctness = integer<int>(*json, "correctness");
      if (correctness != (outcome.status == Status::correct ? 1 : 0)) {
        throw Damage(fmt::format("'correctness' is {}, but 'invalidity' is {}", correctness,
                                 to_text(outcome.status)));
      }
    }
    read(line, "detail", outcome.kind);
    // Recordings of before had no word of its own for what was only compiled.
    if (outcome.status == Status::correct && outcome.kind == "compiled") {
      outcome.status = Status::compiled;
      outcome.kind.clear();
    }
    read(line, "message", outcome.message);
    read(line, "same_as", outcome.same_as);
    outcome.device_ms = number_or_zero(line, "device_ms");
    if (find(times, "runtimes")) outcome.timing = read_timing(line);
    if (find(line, "prepared")) {
      const Json& json = object_member(line, "prepared");
      Prepared& prepared = outcome.prepared.emplace();
      prepared.time_ns = nanoseconds(number_or_zero(json, "time"));
      read(json, "bytes", prepared.bytes);
    }
    if (find(line, "measurements")) trial.measurements = read_measurements(line);
    if (find(line, "validation")) {
      const Json& json = object_member(line, "validation");
      Validation& validation = outcome.validation.emplace();
      validation.relative_error = number_or_zero(json, "error");
      validation.relative_limit = number_or_zero(json, "limit");
      validation.worst_element_ratio = number_or_zero(json, "worst");
      read(json, "elements", validation.elements);
      read(json, "reference", validation.reference);
    }
    if (find(line, "verification")) {
      const Json& json = object_member(line, "verification");
      trial.verification = {
          read_checks(json),
          resolve(member(json, "toolchain"), "toolchain", toolchains_, read_toolchain),
          text(json, "timestamp")};
    }
    trial = supported(std::move(trial));
    const Figures figures{trial.compile.registers, trial.compile.spill_bytes};
    const auto [known, is_new] = compiled_.try_emplace(
        key_of(trial.kernel.name, trial.protocol, trial.problem, to_text(trial.config)), figures);
    if (!is_new && known->second != figures) known->second.is_clear = false;
    return trial;
  }

  BaselineRecord read_baseline(const Json& line) const {
    BaselineRecord baseline;
    baseline.op = text(line, "op");
    baseline.problem = read_problem(line);
    baseline.protocol = resolve(member(line, "protocol"), "protocol", protocols_, read_protocol);
    baseline.toolchain =
        resolve(member(line, "toolchain"), "toolchain", toolchains_, read_toolchain);
    baseline.name = text(line, "baseline");
    read(line, "detail", baseline.detail);
    baseline.timing = read_timing(line);
    read(line, "timestamp", baseline.finished_at);
    read(line, "cublas", baseline.cublas);
    read(line, "contract_hash", baseline.contract_hash);
    return supported(std::move(baseline));
  }

  RankRecord read_rank(const Json& line) const {
    RankRecord rank;
    rank.op = text(line, "op");
    rank.problem = read_problem(line);
    rank.protocol = resolve(member(line, "protocol"), "protocol", protocols_, read_protocol);
    rank.rounds = integer<int>(member(line, "rounds"), "rounds");
    read(line, "timestamp", rank.finished_at);
    for (const Json& json : list_member(line, "rank")) {
      RankEntry& entry = rank.entries.emplace_back();
      entry.kernel = text(json, "kernel");
      entry.config = text(json, "config");
      if (!entry.kernel.empty()) require_config(entry.config);
      entry.samples_ns = read_runtimes(json);
      entry.median_ns = nanoseconds(number_or_zero(json, "time"));
      entry.ratio_to_best = read_ratio(json, "ratio_to_best");
      entry.speedup_over_baseline = read_ratio(json, "speedup");
      read(json, "winner", entry.winner);
      read(json, "tied", entry.tied);
      read(json, "failure", entry.failure);
      read(json, "eliminated", entry.eliminated);
      entry.clocks_mhz = read_clocks(json, entry.samples_ns.size());
      if (find(json, "cycles_ratio_to_best")) {
        entry.cycles_ratio_to_best = read_ratio(json, "cycles_ratio_to_best");
      }
      entry.energy_j = number_or_zero(json, "energy_j");
      entry.roofline_ns = nanoseconds(number_or_zero(json, "roofline"));
      if (find(json, "figures")) entry.figures = read_problem(json, "figures");
    }
    if (find(line, "objective")) rank.objective = read_objective(line);
    if (find(line, "identity")) {
      rank.identity = read_identity(object_member(line, "identity"));
      rank.toolchain = resolve(member(line, "toolchain"), "toolchain", toolchains_, read_toolchain);
      for (const Json& index : list_member(line, "kernels")) {
        rank.kernels.push_back(resolve(index, "kernel", kernels_, read_kernel));
      }
    }
    if (find(line, "noise")) {
      const Json& json = object_member(line, "noise");
      rank.noise = NoiseFloor{text(json, "kernel"), text(json, "config"), read_runtimes(json),
                              read_ratio(json, "ratio")};
    }
    for (const RankEntry& entry : rank.entries) {
      if (entry.kernel.empty() || entry.figures.empty()) continue;
      const auto trial =
          compiled_.find(key_of(entry.kernel, rank.protocol, rank.problem, entry.config));
      if (trial == compiled_.end() || !trial->second.is_clear) continue;
      CompileReport compile;
      compile.registers = trial->second.registers;
      compile.spill_bytes = trial->second.spill_bytes;
      if (const std::string wrong = contradiction(entry, compile); !wrong.empty()) {
        throw Damage(wrong);
      }
    }
    return supported(std::move(rank));
  }

  /// What the compiler reported of a trial, for the verdicts that come later.
  struct Figures {
    int registers = 0;
    int spill_bytes = 0;
    bool is_clear = true;  // false: versions of the kernel differ, and a verdict may be of either
    bool operator==(const Figures&) const = default;
  };

  /// A hash, since there may be 10^6 trials.
  static std::size_t key_of(const std::string& kernel, const Protocol& protocol,
                            const Problem& problem, const std::string& config) {
    return std::hash<std::string>()(
        fmt::format("{} {} {} {}", kernel, protocol.name, to_text(problem), config));
  }

  std::filesystem::path path_;
  LineReader lines_;
  bool at_end_ = false;
  std::size_t line_number_ = 0;
  Parser parser_;
  bool has_header_ = false;
  int version_ = 0;
  Continued trial_{"kernel"}, baseline_{"op"};
  std::vector<KernelVersion> kernels_;
  std::vector<Toolchain> toolchains_;
  std::vector<Protocol> protocols_;
  std::unordered_map<std::size_t, Figures> compiled_;  // by key
  Recording recording_;                                // what next() returns
};

}  // namespace

RecordingPortions read_portions(const std::filesystem::path& path, std::size_t max_records) {
  if (is_tuner_file(path)) return read_tuner_file(path, max_records);
  return
      [reader = std::make_shared<Reader>(path), max_records] { return reader->next(max_records); };
}

Recording read_recording(const std::filesystem::path& path) {
  return read_portions(path, std::numeric_limits<std::size_t>::max())().value();
}

}  // namespace assay
