// BAT's table: a line for each result, whose columns are called config.NAME, times.NAME or NAME. A
// field with commas, such as times.runtimes, stands between quotes, and a quote in it is doubled.
#include "store/tuner_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/stats.h"
#include "base/text.h"
#include "ranking/claims.h"

namespace assay::tuner_rows {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr double kNsPerS = 1e9;

/// In nanoseconds, finite.
double read_time(const Json& value, std::string_view key, double unit_ns) {
  // Python's NaN and Infinity were made null.
  if (value.is_null()) throw Damage("'{}' is NaN or null, which is no time", key);
  if (!value.is_number() || !(value.get<double>() > 0) ||
      !std::isfinite(value.get<double>() * kNsPerS)) {
    throw Damage("'{}' is {}, which is no time", key, value.dump());
  }
  return value.get<double>() * unit_ns;
}

double number_or_zero(const Json& object, std::string_view key) {
  const Json* found = find(object, key);
  return found && found->is_number() ? found->get<double>() : 0;
}

/// "2023-12-22 09:54:05.502007+00:00" as "2023-12-22T09:54:05Z".
std::string read_timestamp(const Json& row) {
  std::string text = text_or_empty(row, "timestamp").substr(0, 19);
  if (text.size() < 19) return "";
  text[10] = 'T';
  text += 'Z';
  return is_timestamp(text) ? text : "";
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

/// The times of a list; none where there is no list.
std::vector<double> read_samples(const Json& object, const char* key, double unit_ns) {
  std::vector<double> samples_ns;
  const Json* list = find(object, key);
  if (!list || list->is_null()) return samples_ns;
  if (!list->is_array()) throw Damage("'{}' is no list of times", key);
  for (const Json& time : elements(*list)) samples_ns.push_back(read_time(time, key, unit_ns));
  return samples_ns;
}

/// Nothing where it names no unit of time. Kernel Tuner's hub writes "miliseconds", KTT
/// "Microseconds".
std::optional<double> unit_ns_of(std::string unit) {
  for (char& c : unit) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (unit == "ms" || unit == "milliseconds" || unit == "miliseconds") return kNsPerMs;
  if (unit == "s" || unit == "seconds") return kNsPerS;
  if (unit == "us" || unit == "\u00b5s" || unit == "\u03bcs" || unit == "microseconds") return 1e3;
  if (unit == "ns" || unit == "nanoseconds") return 1;
  return std::nullopt;
}

double require_unit_ns(const std::string& unit, std::string_view where) {
  if (unit.empty()) {
    throw Unreadable("the times have no unit: expected s, ms, us or ns as {}", where);
  }
  const std::optional<double> unit_ns = unit_ns_of(unit);
  if (!unit_ns) throw Unreadable("times in '{}': expected s, ms, us or ns", unit);
  return *unit_ns;
}

/// Kernel Tuner's words for what failed, which stand where the time would.
Outcome failure(std::string_view word) {
  return {word == "InvalidConfig"             ? Status::constraints
          : word == "CompilationFailedConfig" ? Status::compile
                                              : Status::runtime,
          std::string(word), ""};
}

/// All times of a cachefile are milliseconds.
void read_cachefile_row(const Json& row, TrialRecord& trial) {
  trial.compile.compile_ms = number_or_zero(row, "compile_time");
  const std::string error = text_or_empty(row, "__error__");
  const Json& time = member(row, "time");
  if (!error.empty() || time.is_string()) {
    trial.outcome = failure(error.empty() ? view(time) : error);
    return;
  }
  std::vector<double> samples_ns = read_samples(row, "times", kNsPerMs);
  if (samples_ns.empty()) samples_ns = {read_time(time, "time", kNsPerMs)};
  trial.outcome.timing = timing_of(std::move(samples_ns));
}

/// The measurement that is a time: "time", or the objective where its unit is one of time. Null
/// where there is none.
const Json* time_measurement(const Json& result) {
  const Json* measurements = find(result, "measurements");
  if (!measurements) return nullptr;
  if (!measurements->is_array()) throw Damage("'measurements' is not a list");
  const Json* objectives = find(result, "objectives");
  const Json* objective = nullptr;
  for (const Json& measurement : elements(*measurements)) {
    const std::string name = text_or_empty(measurement, "name");
    if (name == "time") return &measurement;
    if (!objectives || !objectives->is_array() || objectives->empty() || objective) continue;
    const Json& first = (*objectives)[0];
    if (!first.is_string() || view(first) != name) continue;
    if (unit_ns_of(text_or_empty(measurement, "unit"))) objective = &measurement;
  }
  return objective;
}

/// Whether a result that is said to be valid was found wrong.
bool is_refuted(const Json& result) {
  const Json* const correctness = find(result, "correctness");
  return correctness && correctness->is_number() && correctness->get<double>() == 0;
}

void read_t4_result(const Json& result, const std::string& file_unit, TrialRecord& trial) {
  const std::string word = text_or_empty(result, "invalidity");
  const auto status = parse_status(word);
  if (!status) throw Damage("'invalidity' is '{}', which T4 does not know", word);
  trial.outcome.status = *status;
  const Json* time = time_measurement(result);
  std::string unit = time ? text_or_empty(*time, "unit") : "";
  if (unit.empty()) unit = file_unit;
  const Json& times = member(result, "times");
  // The schema has the first; Kernel Tuner writes the second.
  trial.compile.compile_ms =
      std::max(number_or_zero(times, "compilation_time"), number_or_zero(times, "compilation")) *
      unit_ns_of(unit).value_or(0) / kNsPerMs;
  if (*status != Status::correct) {
    if (time) trial.outcome.kind = text_or_empty(*time, "value");
    return;
  }
  if (is_refuted(result)) {
    throw Damage("'invalidity' is correct, and 'correctness' is 0");
  }
  const double unit_ns =
      require_unit_ns(unit, "the unit of the measurement 'time', or as metadata.timeunit");
  std::vector<double> samples_ns = read_samples(times, "runtimes", unit_ns);
  if (samples_ns.empty()) {
    if (!time) throw Damage("neither 'runtimes' nor a measurement 'time'");
    samples_ns = {read_time(member(*time, "value"), "time", unit_ns)};
  }
  trial.outcome.timing = timing_of(std::move(samples_ns));
}

void read_ktt_result(const Json& result, const std::string& unit, TrialRecord& trial) {
  const double unit_ns = require_unit_ns(unit, "Metadata.TimeUnit");
  trial.compile.compile_ms = number_or_zero(result, "CompilationOverhead") * unit_ns / kNsPerMs;
  const std::string status = text_or_empty(result, "Status");
  if (status == "Ok") {
    trial.outcome.timing =
        timing_of({read_time(member(result, "TotalDuration"), "TotalDuration", unit_ns)});
    return;
  }
  trial.outcome.kind = status;
  if (status == "CompilationFailed") {
    trial.outcome.status = Status::compile;
  } else if (status == "ValidationFailed") {
    trial.outcome.status = Status::correctness;
  } else if (status == "ComputationFailed" || status == "DeviceLimitsExceeded") {
    trial.outcome.status = Status::runtime;
  } else {
    throw Damage("'Status' is '{}', which KTT does not know", status);
  }
}

/// BAT says in a sentence what failed.
Status status_of_bat(std::string_view validity) {
  if (validity == "Config invalid" || validity == "InvalidConfig") return Status::constraints;
  if (validity.find("ompil") != validity.npos) return Status::compile;
  return Status::runtime;
}

void read_bat_result(const Json& result, TrialRecord& trial) {
  const Json& times = member(result, "times");
  trial.compile.compile_ms = number_or_zero(times, "compile_time") * kNsPerS / kNsPerMs;
  const std::string validity = text_or_empty(result, "validity");
  if (validity.empty()) throw Damage("'validity' is missing");
  if (validity != "Correct") {
    trial.outcome.status = status_of_bat(validity);
    trial.outcome.kind = validity;
    return;
  }
  if (is_refuted(result)) {
    trial.outcome.status = Status::correctness;
    return;
  }
  std::vector<double> samples_ns = read_samples(times, "runtimes", kNsPerS);
  if (samples_ns.empty()) throw Damage("'runtimes' is empty");
  trial.outcome.timing = timing_of(std::move(samples_ns));
}

/// Takes the next line of a table off its text. Its fields, without quotes.
std::vector<std::string> take_line(std::string_view& table) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  std::size_t at = 0;
  for (; at < table.size(); ++at) {
    const char c = table[at];
    if (c == '"' && quoted && table.substr(at + 1, 1) == "\"") {
      fields.back() += table[++at];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c == '\n' && !quoted) {
      break;
    } else if (c != '\r' || quoted) {
      fields.back() += c;
    }
  }
  if (quoted) throw Damage("the end of a quoted field is missing");
  table.remove_prefix(std::min(at + 1, table.size()));
  return fields;
}

std::string json_string(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A list and a number as they are, Python's words as JSON's, and all else as a string.
std::string json_of(const std::string& field) {
  if (field.empty() || field == "nan") return "null";
  if (field == "True") return "true";
  if (field == "False") return "false";
  if (field[0] == '[') return field;
  double number = 0;
  const char* end = field.data() + field.size();
  const bool begins_as_one = field.find_first_of("0123456789") <= 1;
  const bool is_number = begins_as_one && std::from_chars(field.data(), end, number).ptr == end;
  return is_number ? field : json_string(field);
}

}  // namespace

std::string RowWords::identifier(std::string_view foreign) {
  std::string word(foreign);
  std::ranges::replace_if(
      word, [](char c) { return !is_identifier_part(c); }, '_');
  if (word.empty() || is_digit(word[0])) word.insert(word.begin(), '_');
  const auto [known, is_new] = foreign_.try_emplace(word, foreign);
  if (known->second != foreign) {
    throw Damage("'{}' and '{}' would both be {}", known->second, foreign, word);
  }
  return word;
}

Value RowWords::value(std::string_view name, const Json& value) {
  if (value.is_number_integer()) return integer<std::int64_t>(value, name);
  if (value.is_boolean()) return std::int64_t{value.get<bool>()};
  if (value.is_string()) {
    if (const auto number = number_of<std::int64_t>(view(value))) return *number;
    return identifier(view(value));
  }
  throw Damage("'{}' is {}, which is neither an integer nor a word", name, value.dump());
}

std::vector<std::string> RowWords::changes() const {
  std::vector<std::string> changes;
  for (const auto& [word, foreign] : foreign_) {
    if (word != foreign) changes.push_back(fmt::format("'{}' is read as {}", foreign, word));
  }
  return changes;
}

void TunerRowReader::read_config(const Json& row, TrialRecord& trial) {
  const auto add = [&](std::string_view name, const Json& value) {
    trial.config.emplace_back(words.identifier(name), words.value(name, value));
  };
  if (format == Format::cachefile) {
    for (const std::string& name : parameters) add(name, member(row, name));
  } else if (format == Format::ktt) {
    const Json& pairs = member(row, "Configuration");
    if (!pairs.is_array()) throw Damage("'Configuration' is not a list");
    for (const Json& pair : elements(pairs)) {
      add(text_or_empty(pair, "Name"), member(pair, "Value"));
    }
    if (const std::string kernel = text_or_empty(row, "KernelName"); !kernel.empty()) {
      trial.kernel.name = trial.kernel.op = kernel;
    }
  } else {
    const Json& pairs = member(row, format == Format::bat ? "config" : "configuration");
    if (!pairs.is_object()) throw Damage("'configuration' is not an object");
    for (const auto& [name, value] : members(pairs)) add(name, value);
  }
  if (!is_its_text(trial.config)) throw Damage("the configuration names a parameter twice");
}

void TunerRowReader::read_outcome(const Json& row, TrialRecord& trial) const {
  trial.finished_at = read_timestamp(row);
  switch (format) {
    case Format::cachefile:
      return read_cachefile_row(row, trial);
    case Format::t4:
      return read_t4_result(row, unit, trial);
    case Format::ktt:
      return read_ktt_result(row, unit, trial);
    case Format::bat:
      return read_bat_result(row, trial);
  }
}

TrialRecord combined(std::vector<TrialRecord> runs) {
  for (TrialRecord& run : runs) {
    if (run.outcome.status == Status::correctness) return std::move(run);
  }
  std::vector<double> samples_ns;
  for (const TrialRecord& run : runs) {
    if (!run.outcome.timing) continue;
    std::ranges::copy(run.outcome.timing->samples_ns, std::back_inserter(samples_ns));
  }
  TrialRecord last = std::move(runs.back());
  if (last.outcome.timing && runs.size() > 1) {
    last.outcome.timing = timing_of(std::move(samples_ns));
  }
  return last;
}

std::string json_of_table(std::string_view text) {
  const std::vector<std::string> names = take_line(text);
  std::string json = "[";
  while (!text.empty()) {
    const std::vector<std::string> fields = take_line(text);
    if (fields.size() == 1 && fields[0].empty()) continue;
    // Too few or too many: the row's reader says what is missing.
    std::string config, times, others;
    for (std::size_t i = 0; i < std::min(names.size(), fields.size()); ++i) {
      std::string_view name = names[i];
      std::string& part = name.starts_with("config.")  ? config
                          : name.starts_with("times.") ? times
                                                       : others;
      if (&part != &others) name.remove_prefix(name.find('.') + 1);
      part +=
          fmt::format("{}{}:{}", part.empty() ? "" : ",", json_string(name), json_of(fields[i]));
    }
    json += fmt::format("{}{{\"config\":{{{}}},\"times\":{{{}}}{}{}}}", json.size() > 1 ? "," : "",
                        config, times, others.empty() ? "" : ",", others);
  }
  return json + ']';
}

}  // namespace assay::tuner_rows
