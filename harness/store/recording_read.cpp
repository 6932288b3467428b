#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/stats.h"
#include "store/gzip.h"
#include "store/json_document.h"
#include "store/json_row.h"
#include "store/store.h"

namespace assay {
namespace {

using json_row::Damage;
using json_row::integer;
using json_row::member;
using Json = nlohmann::ordered_json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Json& object_member(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_object()) throw Damage(fmt::format("'{}' is not an object", key));
  return value;
}

// The three numbers that JSON has no digits for are written as words.
double number(const Json& value, const char* key) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return kInfinity;
  if (value == "-inf") return -kInfinity;
  throw Damage(fmt::format("'{}' is not a number", key));
}

double number_or_zero(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? 0 : number(*found, key);
}

// Turns milliseconds of the file into nanoseconds: exactly the tenths that were written.
double nanoseconds(double ms) { return std::round(ms * 1e7) / 10; }

template <class Integer>
void read(const Json& object, const char* key, Integer& into) {
  if (const auto found = object.find(key); found != object.end()) {
    into = integer<Integer>(*found, key);
  }
}

void read(const Json& object, const char* key, bool& into) {
  const auto found = object.find(key);
  if (found == object.end()) return;
  if (!found->is_boolean()) throw Damage(fmt::format("'{}' is not true or false", key));
  into = found->get<bool>();
}

void read(const Json& object, const char* key, std::string& into) {
  const auto found = object.find(key);
  if (found == object.end()) return;
  if (!found->is_string()) throw Damage(fmt::format("'{}' is not a string", key));
  into = found->get<std::string>();
}

std::string text(const Json& object, const char* key) {
  member(object, key);
  std::string value;
  read(object, key, value);
  return value;
}

template <class Pairs, class Parse>
Pairs checked(const Pairs& pairs, const char* key, Parse parse) {
  if (json_row::is_its_text(pairs, parse)) return pairs;
  throw Damage(fmt::format("'{}' has a name or a word that is none, or has one twice", key));
}

Config read_config(const Json& line) {
  Config config;
  for (const auto& [name, value] : object_member(line, "configuration").items()) {
    if (value.is_string()) {
      config.emplace_back(name, value.get<std::string>());
    } else {
      config.emplace_back(name, integer<std::int64_t>(value, name.c_str()));
    }
  }
  return checked(config, "configuration", parse_config);
}

/// Throws Damage where a verdict's entry names no configuration: it is looked for among the trials.
void require_config(const std::string& text) {
  try {
    parse_config(text);
  } catch (const UsageError& error) {
    throw Damage(fmt::format("'config' of a rank: {}", error.what()));
  }
}

Problem read_problem(const Json& line) {
  Problem problem;
  for (const auto& [name, value] : object_member(line, "problem").items()) {
    problem.emplace_back(name, value.is_number_float()
                                   ? to_number(value.get<double>())
                                   : integer<std::int64_t>(value, name.c_str()));
  }
  return checked(problem, "problem", parse_problem);
}

std::vector<double> read_runtimes(const Json& object) {
  const Json& list = member(object, "runtimes");
  if (!list.is_array()) throw Damage("'runtimes' is not a list");
  std::vector<double> samples_ns;
  samples_ns.reserve(list.size());
  for (const Json& ms : list) {
    samples_ns.push_back(nanoseconds(number(ms, "runtimes")));
    if (!std::isfinite(samples_ns.back())) {
      throw Damage(fmt::format("'runtimes' has {}, which is no time", ms.dump()));
    }
  }
  return samples_ns;
}

const Json& list_of(const Json& object, const char* key, std::size_t size) {
  const Json& list = member(object, key);
  if (!list.is_array() || list.size() != size) {
    throw Damage(fmt::format("'{}' is not a list of {} numbers", key, size));
  }
  return list;
}

Interval read_ratio(const Json& object, const char* key) {
  const Json& list = list_of(object, key, 3);
  return {number(list[0], key), number(list[1], key), number(list[2], key)};
}

// One for each sample; older recordings have none.
std::vector<double> read_clocks(const Json& object, std::size_t num_samples) {
  std::vector<double> clocks_mhz;
  if (!object.contains("clocks_mhz")) return clocks_mhz;
  for (const Json& mhz : list_of(object, "clocks_mhz", num_samples)) {
    clocks_mhz.push_back(number(mhz, "clocks_mhz"));
  }
  return clocks_mhz;
}

double median_of_known(std::vector<double> clocks_mhz) {
  std::erase_if(clocks_mhz, [](double mhz) { return !(mhz > 0); });
  return clocks_mhz.empty() ? 0 : median(clocks_mhz);
}

Timing read_timing(const Json& line) {
  Timing timing;
  timing.samples_ns = read_runtimes(object_member(line, "times"));
  const Json& interval = list_of(line, "interval", 2);
  timing.ci_low_ns = nanoseconds(number(interval[0], "interval"));
  timing.ci_high_ns = nanoseconds(number(interval[1], "interval"));
  const auto stop = parse_stop_reason(text(line, "stop"));
  if (!stop) {
    throw Damage("'stop' is not precision, noise, raced, time_limit, sample_limit or unsettled");
  }
  timing.stop = *stop;
  timing.clocks_mhz = read_clocks(line, timing.samples_ns.size());
  timing.clock_mhz = median_of_known(timing.clocks_mhz);
  read(line, "num_throttled", timing.num_throttled);
  timing.time_limit_s = number_or_zero(line, "time_limit_s");
  timing.roofline_ns = nanoseconds(number_or_zero(line, "roofline"));
  if (line.contains("gpu_state")) {
    const Json& state = object_member(line, "gpu_state");
    timing.state = {integer<std::uint64_t>(member(state, "throttle_reasons"), "throttle_reasons"),
                    number_or_zero(state, "power_w"), number_or_zero(state, "temperature_c")};
  }
  const Json& measurements = member(line, "measurements");
  for (const Json& measurement : measurements) {
    if (!measurement.is_object()) throw Damage("'measurements' is not a list of objects");
    if (text(measurement, "name") == "time") {
      timing.median_ns = nanoseconds(number_or_zero(measurement, "value"));
    }
  }
  return timing;
}

// Those beside the time.
std::vector<Measurement> read_measurements(const Json& line) {
  std::vector<Measurement> measurements;
  for (const Json& json : member(line, "measurements")) {
    if (!json.is_object()) throw Damage("'measurements' is not a list of objects");
    Measurement measurement{text(json, "name"), number_or_zero(json, "value"), ""};
    read(json, "unit", measurement.unit);
    const auto has_name = [&](const Measurement& other) { return other.name == measurement.name; };
    if (measurement.name == "time") continue;
    if (std::any_of(measurements.begin(), measurements.end(), has_name)) {
      throw Damage(fmt::format("'measurements' has two of the name '{}'", measurement.name));
    }
    measurements.push_back(std::move(measurement));
  }
  return measurements;
}

Objective read_objective(const Json& object) {
  const auto objective = parse_objective(text(object, "objective"));
  if (!objective) throw Damage("'objective' is not time, energy or edp");
  return *objective;
}

RankIdentity read_identity(const Json& json) {
  RankIdentity identity;
  identity.candidates = text(json, "candidates");
  read(json, "num_candidates", identity.num_candidates);
  read(json, "top", identity.top);
  read(json, "least_rounds", identity.least_rounds);
  identity.objective = read_objective(json);
  for (const Json& name : member(json, "baselines")) {
    if (!name.is_string()) throw Damage("'baselines' is not a list of names");
    identity.baselines.push_back(name.get<std::string>());
  }
  read(json, "cublas", identity.cublas);
  if (json.contains("precision_ratio")) {
    const double ratio = number(json["precision_ratio"], "precision_ratio");
    if (!(ratio >= 0 && ratio < 1)) throw Damage("'precision_ratio' is not 0 or a ratio below 1");
    identity.precision_ratio = ratio;
  }
  return identity;
}

KernelVersion read_kernel(const Json& json) {
  return {text(json, "name"), text(json, "op"), text(json, "source_hash"),
          text(json, "contract_hash")};
}

Toolchain read_toolchain(const Json& json) {
  return {text(json, "nvrtc"), text(json, "arch"), text(json, "options"), text(json, "driver")};
}

Protocol read_protocol(const Json& json) {
  return {text(json, "name"), number(member(json, "precision_ratio"), "precision_ratio")};
}

std::vector<VerificationCheck> read_checks(const Json& object) {
  std::vector<VerificationCheck> checks;
  for (const Json& json : member(object, "checks")) {
    if (!json.is_object()) throw Damage("'checks' is not a list of objects");
    const auto result = parse_check_result(text(json, "result"));
    if (!result) throw Damage("'result' of a check is not passed, failed or skipped");
    checks.push_back({text(json, "name"), *result});
    read(json, "message", checks.back().message);
  }
  return checks;
}

// A line refers to a kernel, toolchain or protocol either by the object itself, or by the number of
// the line that defined it. Returns the object.
template <class Thing, class Read>
Thing resolve(const Json& line, const char* key, const std::vector<Thing>& known, Read read_thing) {
  const Json& value = member(line, key);
  if (value.is_object()) return read_thing(value);
  const auto index = integer<std::size_t>(value, key);
  if (index >= known.size()) {
    throw Damage(
        fmt::format("'{}' is {}, but only {} are defined above", key, index, known.size()));
  }
  return known[index];
}

class Reader {
 public:
  Recording take() { return std::move(recording_); }
  bool has_header() const { return has_header_; }

  void read_line(const Json& line) {
    if (!line.is_object()) throw Damage("not a JSON object");
    if (!has_header_) return read_header(line);
    if (line.contains("define_kernel")) {
      kernels_.push_back(read_kernel(object_member(line, "define_kernel")));
    } else if (line.contains("define_toolchain")) {
      toolchains_.push_back(read_toolchain(object_member(line, "define_toolchain")));
    } else if (line.contains("define_protocol")) {
      protocols_.push_back(read_protocol(object_member(line, "define_protocol")));
    } else if (line.contains("configuration")) {
      recording_.trials.push_back(read_trial(line));
    } else if (line.contains("baseline")) {
      recording_.baselines.push_back(read_baseline(line));
    } else if (line.contains("rank")) {
      recording_.ranks.push_back(read_rank(line));
    } else {
      throw Damage("neither a trial ('configuration'), a 'baseline', a 'rank' nor a definition");
    }
  }

 private:
  void read_header(const Json& line) {
    const auto version = integer<int>(member(line, "assay_recording"), "assay_recording");
    if (version != 1) {
      throw Damage(fmt::format("recording format {}; this assay reads 1", version));
    }
    recording_.sweep = text(line, "sweep");
    recording_.recorded_at = text(line, "recorded_at");
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
    has_header_ = true;
  }

  TrialRecord read_trial(const Json& line) const {
    TrialRecord trial;
    trial.kernel = resolve(line, "kernel", kernels_, read_kernel);
    trial.toolchain = resolve(line, "toolchain", toolchains_, read_toolchain);
    trial.protocol = resolve(line, "protocol", protocols_, read_protocol);
    trial.problem = read_problem(line);
    trial.config = read_config(line);
    read(line, "timestamp", trial.finished_at);
    const Json& times = object_member(line, "times");
    trial.compile.compile_ms = number_or_zero(times, "compilation_time");
    if (line.contains("compile")) {
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
      throw Damage(
          fmt::format("'invalidity' is '{}', which T4 does not know", text(line, "invalidity")));
    }
    outcome.status = *status;
    read(line, "detail", outcome.kind);
    read(line, "message", outcome.message);
    outcome.device_ms = number_or_zero(line, "device_ms");
    if (times.contains("runtimes")) outcome.timing = read_timing(line);
    if (line.contains("prepared")) {
      const Json& json = object_member(line, "prepared");
      Prepared& prepared = outcome.prepared.emplace();
      prepared.time_ns = nanoseconds(number_or_zero(json, "time"));
      read(json, "bytes", prepared.bytes);
    }
    if (line.contains("measurements")) trial.measurements = read_measurements(line);
    if (line.contains("validation")) {
      const Json& json = object_member(line, "validation");
      Validation& validation = outcome.validation.emplace();
      validation.relative_error = number_or_zero(json, "error");
      validation.relative_limit = number_or_zero(json, "limit");
      validation.worst_element_ratio = number_or_zero(json, "worst");
      read(json, "elements", validation.elements);
      read(json, "reference", validation.reference);
    }
    if (line.contains("verification")) {
      const Json& json = object_member(line, "verification");
      trial.verification = {read_checks(json),
                            resolve(json, "toolchain", toolchains_, read_toolchain),
                            text(json, "timestamp")};
    }
    return trial;
  }

  BaselineRecord read_baseline(const Json& line) const {
    BaselineRecord baseline;
    baseline.op = text(line, "op");
    baseline.problem = read_problem(line);
    baseline.protocol = resolve(line, "protocol", protocols_, read_protocol);
    baseline.toolchain = resolve(line, "toolchain", toolchains_, read_toolchain);
    baseline.name = text(line, "baseline");
    read(line, "detail", baseline.detail);
    baseline.timing = read_timing(line);
    read(line, "timestamp", baseline.finished_at);
    read(line, "cublas", baseline.cublas);
    read(line, "contract_hash", baseline.contract_hash);
    return baseline;
  }

  RankRecord read_rank(const Json& line) const {
    RankRecord rank;
    rank.op = text(line, "op");
    rank.problem = read_problem(line);
    rank.protocol = resolve(line, "protocol", protocols_, read_protocol);
    rank.rounds = integer<int>(member(line, "rounds"), "rounds");
    read(line, "timestamp", rank.finished_at);
    for (const Json& json : member(line, "rank")) {
      if (!json.is_object()) throw Damage("'rank' is not a list of objects");
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
      if (json.contains("cycles_ratio_to_best")) {
        entry.cycles_ratio_to_best = read_ratio(json, "cycles_ratio_to_best");
      }
      entry.energy_j = number_or_zero(json, "energy_j");
      entry.roofline_ns = nanoseconds(number_or_zero(json, "roofline"));
    }
    if (line.contains("objective")) rank.objective = read_objective(line);
    if (line.contains("identity")) {
      rank.identity = read_identity(object_member(line, "identity"));
      rank.toolchain = resolve(line, "toolchain", toolchains_, read_toolchain);
      for (const Json& index : member(line, "kernels")) {
        rank.kernels.push_back(resolve(Json{{"kernel", index}}, "kernel", kernels_, read_kernel));
      }
    }
    if (line.contains("noise")) {
      const Json& json = object_member(line, "noise");
      rank.noise = NoiseFloor{text(json, "kernel"), text(json, "config"), read_runtimes(json),
                              read_ratio(json, "ratio")};
    }
    return rank;
  }

  bool has_header_ = false;
  std::vector<KernelVersion> kernels_;
  std::vector<Toolchain> toolchains_;
  std::vector<Protocol> protocols_;
  Recording recording_;
};

}  // namespace

Recording read_recording(const std::filesystem::path& path) {
  if (is_tuner_file(path)) return read_tuner_file(path);
  const std::string content = read_maybe_gzip(path);
  Reader reader;
  std::size_t line_number = 0;
  for (std::size_t begin = 0; begin < content.size();) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    const std::string_view line(content.data() + begin, end - begin);
    begin = end + 1;
    ++line_number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      check_json(line, fmt::format("{}:{}", path.string(), line_number));
      const std::optional<Json> document = parse_document(line);
      if (!document) {
        throw UsageError(fmt::format("{}:{}: not a line of JSON", path.string(), line_number));
      }
      reader.read_line(*document);
    } catch (const Json::exception&) {
      throw UsageError(fmt::format("{}:{}: not a line of JSON", path.string(), line_number));
    } catch (const Damage& damage) {
      throw UsageError(fmt::format("{}:{}: {}", path.string(), line_number, damage.what()));
    }
  }
  if (!reader.has_header()) {
    throw UsageError(fmt::format("{}:1: no recording: the file is empty", path.string()));
  }
  return reader.take();
}

}  // namespace assay
