#include <fmt/format.h>

#include <algorithm>
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

double read_time(const Json& value, const char* key) {
  if (!value.is_number() || !(value.get<double>() > 0)) {
    throw Damage(fmt::format("'{}' is {}, which is no time", key, value.dump()));
  }
  return value.get<double>();
}

double number_or_zero(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_number() ? object[key].get<double>() : 0;
}

std::string text_or_empty(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

/// Parameters are integers and words here; Python's True is 1.
Value read_value(const std::string& name, const Json& value) {
  if (value.is_number_integer()) return integer<std::int64_t>(value, name.c_str());
  if (value.is_boolean()) return std::int64_t{value.get<bool>()};
  if (value.is_string()) return value.get<std::string>();
  throw Damage(
      fmt::format("'{}' is {}, which is neither an integer nor a word", name, value.dump()));
}

Config checked(Config config) {
  if (json_row::is_its_text(config, parse_config)) return config;
  throw Damage("the configuration has a name or a word that is none");
}

/// "2023-12-22 09:54:05.502007+00:00" as "2023-12-22T09:54:05Z".
std::string read_timestamp(const Json& row) {
  std::string text = text_or_empty(row, "timestamp").substr(0, 19);
  if (text.size() < 19) return "";
  text[10] = 'T';
  return text + 'Z';
}

Timing timing_of(std::vector<double> samples_ns) {
  Timing timing;
  const Interval median = median_interval(samples_ns);
  timing.median_ns = median.value;
  timing.ci_low_ns = median.low;
  timing.ci_high_ns = median.high;
  timing.samples_ns = std::move(samples_ns);
  return timing;
}

std::vector<double> read_samples(const Json& list, const char* key, double unit_ns) {
  if (!list.is_array() || list.empty()) throw Damage(fmt::format("'{}' is no list of times", key));
  std::vector<double> samples_ns;
  for (const Json& time : list) samples_ns.push_back(read_time(time, key) * unit_ns);
  return samples_ns;
}

/// Kernel Tuner's words for what failed, which stand where the time would.
Outcome failure(const std::string& word) {
  Outcome outcome;
  outcome.kind = word;
  outcome.status = word == "InvalidConfig"             ? Status::constraints
                   : word == "CompilationFailedConfig" ? Status::compile
                                                       : Status::runtime;
  return outcome;
}

constexpr double kMillisecondNs = 1e6;

/// A row of a Kernel Tuner cachefile; all its times are milliseconds.
void read_row(const Json& row, const Json& parameters, TrialRecord& trial) {
  for (const Json& name : parameters) {
    if (!name.is_string()) throw Damage("'tune_params_keys' is not a list of names");
    const auto key = name.get<std::string>();
    trial.config.emplace_back(key, read_value(key, member(row, key.c_str())));
  }
  trial.config = checked(std::move(trial.config));
  trial.finished_at = read_timestamp(row);
  trial.compile.compile_ms = number_or_zero(row, "compile_time");
  const std::string error = text_or_empty(row, "__error__");
  const Json& time = member(row, "time");
  if (!error.empty() || time.is_string()) {
    trial.outcome = failure(error.empty() ? time.get<std::string>() : error);
    return;
  }
  trial.outcome.timing = timing_of(
      row.contains("times") ? read_samples(row["times"], "times", kMillisecondNs)
                            : std::vector<double>{read_time(time, "time") * kMillisecondNs});
}

/// What a file calls its unit, "miliseconds" included.
double unit_ns(const std::string& unit) {
  if (unit.empty() || unit == "ms" || unit == "milliseconds" || unit == "miliseconds") {
    return kMillisecondNs;
  }
  if (unit == "s" || unit == "seconds") return 1e9;
  if (unit == "us" || unit == "microseconds") return 1e3;
  if (unit == "ns" || unit == "nanoseconds") return 1;
  throw Damage(fmt::format("times in '{}': expected s, ms, us or ns", unit));
}

/// One of T4's results.
void read_result(const Json& result, const std::string& file_unit, TrialRecord& trial) {
  for (const auto& [name, value] : member(result, "configuration").items()) {
    trial.config.emplace_back(name, read_value(name, value));
  }
  trial.config = checked(std::move(trial.config));
  trial.finished_at = read_timestamp(result);
  const std::string word = text_or_empty(result, "invalidity");
  const auto status = parse_status(word);
  if (!status) throw Damage(fmt::format("'invalidity' is '{}', which T4 does not know", word));
  trial.outcome.status = *status;
  const Json& times = member(result, "times");
  // The schema has the first; Kernel Tuner writes the second.
  trial.compile.compile_ms =
      std::max(number_or_zero(times, "compilation_time"), number_or_zero(times, "compilation"));
  std::string unit = file_unit;
  for (const Json& measurement : result.value("measurements", Json::array())) {
    if (text_or_empty(measurement, "name") != "time") continue;
    if (const std::string own = text_or_empty(measurement, "unit"); !own.empty()) unit = own;
    if (measurement.contains("value") && measurement["value"].is_string()) {
      trial.outcome.kind = measurement["value"].get<std::string>();
    }
  }
  if (*status == Status::correct) {
    trial.outcome.timing =
        timing_of(read_samples(member(times, "runtimes"), "runtimes", unit_ns(unit)));
  }
}

/// Parses the document. A cachefile whose tuner was stopped lacks its end, which is added first.
Json parse(std::string text, const std::filesystem::path& path) {
  check_json(text, path.string());
  std::optional<Json> document = parse_document(text);
  if (!document) {
    text.erase(text.find_last_not_of(" \t\r\n,") + 1);
    document = parse_document(text + "}}");
  }
  if (!document || !document->is_object()) {
    throw UsageError(fmt::format("{}: expected JSON, of Kernel Tuner or T4", path.string()));
  }
  return std::move(*document);
}

/// x, y and z of a Kernel Tuner problem; nothing when the problem is computed in Python.
Problem read_problem(const Json& document, const std::filesystem::path& path) try {
  Json sizes = document.value("problem_size", Json());
  if (!sizes.is_array()) sizes = Json::array({sizes});
  Problem problem;
  for (const Json& size : sizes) {
    if (!size.is_number_integer() || problem.size() == 3) return {};
    problem.emplace_back(std::string(1, "XYZ"[problem.size()]),
                         integer<std::int64_t>(size, "problem_size"));
  }
  return problem;
} catch (const Damage& damage) {
  throw UsageError(fmt::format("{}: {}", path.string(), damage.what()));
}

/// "convolution_A100" of "convolution_A100.json.gz".
std::string stem(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.substr(0, name.find(".json"));
}

}  // namespace

bool is_tuner_file(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".json") || name.ends_with(".json.gz");
}

Recording read_tuner_file(const std::filesystem::path& path) {
  const Json document = parse(read_maybe_gzip(path), path);
  const bool is_cachefile = document.contains("cache") && document.contains("tune_params_keys");
  if (!is_cachefile && !document.contains("results")) {
    throw UsageError(fmt::format(
        "{}: neither a Kernel Tuner cachefile ('cache', 'tune_params_keys') nor T4 ('results')",
        path.string()));
  }
  Recording recording;
  recording.sweep = stem(path);
  const std::string gpu = text_or_empty(document, "device_name");
  recording.device.name = gpu.empty() ? "an unnamed GPU" : gpu;
  TrialRecord blank;
  const std::string kernel = text_or_empty(document, "kernel_name");
  blank.kernel.name = blank.kernel.op = kernel.empty() ? stem(path) : kernel;
  blank.protocol = {"hot", 0};  // Kernel Tuner launches back to back and flushes nothing by default
  blank.problem = read_problem(document, path);
  const std::string unit = text_or_empty(document.value("metadata", Json::object()), "timeunit");
  for (const auto& [key, row] : document[is_cachefile ? "cache" : "results"].items()) {
    TrialRecord trial = blank;
    try {
      if (is_cachefile) {
        read_row(row, document["tune_params_keys"], trial);
      } else {
        read_result(row, unit, trial);
      }
    } catch (const Damage& damage) {
      throw UsageError(fmt::format("{}: {} {}: {}", path.string(), is_cachefile ? "row" : "result",
                                   key, damage.what()));
    }
    recording.recorded_at = std::max(recording.recorded_at, trial.finished_at.substr(0, 10));
    recording.trials.push_back(std::move(trial));
  }
  return recording;
}

}  // namespace assay
