#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/stats.h"
#include "store/gzip.h"
#include "store/json_text.h"
#include "store/store.h"

namespace assay {
namespace {

using namespace json_text;  // both readers of JSON speak in its words

double read_time(const Json& value, const char* key) {
  if (!value.IsNumber() || !(value.GetDouble() > 0)) {
    throw Damage(fmt::format("'{}' is {}, which is no time", key, written(value)));
  }
  return value.GetDouble();
}

double number_or_zero(const Json& object, const char* key) {
  const Json* found = find(object, key);
  return found && found->IsNumber() ? found->GetDouble() : 0;
}

std::string text_or_empty(const Json& object, const char* key) {
  const Json* found = find(object, key);
  return std::string(found && found->IsString() ? view(*found) : "");
}

/// Parameters are integers and words here; Python's True is 1.
Value read_value(std::string_view name, const Json& value) {
  if (value.IsInt64() || value.IsUint64()) return integer<std::int64_t>(value, name);
  if (value.IsBool()) return std::int64_t{value.GetBool()};
  if (value.IsString()) return std::string(view(value));
  throw Damage(
      fmt::format("'{}' is {}, which is neither an integer nor a word", name, written(value)));
}

Config checked(Config config) {
  if (is_its_text(config)) return config;
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
  if (!list.IsArray() || list.Empty()) throw Damage(fmt::format("'{}' is no list of times", key));
  std::vector<double> samples_ns;
  for (const Json& time : list.GetArray()) samples_ns.push_back(read_time(time, key) * unit_ns);
  return samples_ns;
}

/// Kernel Tuner's words for what failed, which stand where the time would.
Outcome failure(std::string_view word) {
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
  if (!parameters.IsArray()) throw Damage("'tune_params_keys' is not a list of names");
  for (const Json& name : parameters.GetArray()) {
    if (!name.IsString()) throw Damage("'tune_params_keys' is not a list of names");
    trial.config.emplace_back(view(name), read_value(view(name), member(row, view(name))));
  }
  trial.config = checked(std::move(trial.config));
  trial.finished_at = read_timestamp(row);
  trial.compile.compile_ms = number_or_zero(row, "compile_time");
  const std::string error = text_or_empty(row, "__error__");
  const Json& time = member(row, "time");
  if (!error.empty() || time.IsString()) {
    trial.outcome = failure(error.empty() ? view(time) : error);
    return;
  }
  const Json* times = find(row, "times");
  trial.outcome.timing =
      timing_of(times ? read_samples(*times, "times", kMillisecondNs)
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
  const Json& configuration = member(result, "configuration");
  if (!configuration.IsObject()) throw Damage("'configuration' is not an object");
  for (const auto& [name, value] : configuration.GetObject()) {
    trial.config.emplace_back(view(name), read_value(view(name), value));
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
  const Json* measurements = find(result, "measurements");
  if (measurements && !measurements->IsArray()) throw Damage("'measurements' is not a list");
  for (rapidjson::SizeType i = 0; measurements && i < measurements->Size(); ++i) {
    const Json& measurement = (*measurements)[i];
    if (text_or_empty(measurement, "name") != "time") continue;
    if (const std::string own = text_or_empty(measurement, "unit"); !own.empty()) unit = own;
    trial.outcome.kind = text_or_empty(measurement, "value");  // why it failed
  }
  if (*status == Status::correct) {
    trial.outcome.timing =
        timing_of(read_samples(member(times, "runtimes"), "runtimes", unit_ns(unit)));
  }
}

/// Parses the document. A cachefile whose tuner was stopped lacks its end, which is added first.
const Json& parse(Parser& parser, std::string text, const std::filesystem::path& path) {
  check_json(text, path.string());
  const Json* document = parser.parse(text);
  if (!document) {
    text.erase(text.find_last_not_of(" \t\r\n,") + 1);
    document = parser.parse(text + "}}");
  }
  if (!document || !document->IsObject()) {
    throw UsageError(fmt::format("{}: expected JSON, of Kernel Tuner or T4", path.string()));
  }
  return *document;
}

/// x, y and z of a Kernel Tuner problem; nothing when the problem is computed in Python.
Problem read_problem(const Json& document, const std::filesystem::path& path) try {
  Problem problem;
  const auto add = [&](const Json& size) {
    if (!(size.IsInt64() || size.IsUint64()) || problem.size() == 3) return false;
    problem.emplace_back(std::string(1, "XYZ"[problem.size()]),
                         integer<std::int64_t>(size, "problem_size"));
    return true;
  };
  const Json* sizes = find(document, "problem_size");
  if (!sizes) return {};
  if (!sizes->IsArray()) return add(*sizes) ? problem : Problem();
  for (const Json& size : sizes->GetArray()) {
    if (!add(size)) return {};
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
  Parser parser;
  const Json& document = parse(parser, read_maybe_gzip(path), path);
  const Json* parameters = find(document, "tune_params_keys");
  const Json* cache = find(document, "cache");
  const Json* results = find(document, "results");
  const bool is_cachefile = parameters && cache && cache->IsObject();
  if (!is_cachefile && !(results && results->IsArray())) {
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

  const auto add = [&](auto name_of_row, auto read) {
    TrialRecord& trial = recording.trials.emplace_back(blank);
    try {
      read(trial);
    } catch (const Damage& damage) {
      throw UsageError(fmt::format("{}: {}: {}", path.string(), name_of_row(), damage.what()));
    }
    recording.recorded_at = std::max(recording.recorded_at, trial.finished_at.substr(0, 10));
  };
  recording.trials.reserve(is_cachefile ? cache->MemberCount() : results->Size());
  if (is_cachefile) {
    for (const auto& [key, row] : cache->GetObject()) {
      add([&key] { return fmt::format("row {}", view(key)); },
          [&](TrialRecord& trial) { read_row(row, *parameters, trial); });
    }
  } else {
    const Json* metadata = find(document, "metadata");
    const std::string unit = metadata ? text_or_empty(*metadata, "timeunit") : "";
    for (const Json& result : results->GetArray()) {
      add([&] { return fmt::format("result {}", recording.trials.size() - 1); },
          [&](TrialRecord& trial) { read_result(result, unit, trial); });
    }
  }
  return recording;
}

}  // namespace assay
