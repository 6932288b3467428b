#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/stats.h"
#include "store/gzip.h"
#include "store/json_text.h"
#include "store/store.h"

namespace assay {
namespace {

using namespace json_text;  // both readers of JSON speak in its words

/// In the file's unit. Also in nanoseconds it is finite.
double read_time(const Json& value, const char* key) {
  constexpr double kNsPerS = 1e9;
  if (!value.IsNumber() || !(value.GetDouble() > 0) ||
      !std::isfinite(value.GetDouble() * kNsPerS)) {
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
  for (const auto& entry : config) {
    if (is_its_text(Config{entry})) continue;
    throw Damage(
        fmt::format("'{}' is \"{}\"; expected an integer or a word of letters, digits and "
                    "underscores, for a parameter whose name is such a word",
                    entry.first, to_text(entry.second)));
  }
  throw Damage("the configuration has a parameter twice");
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

/// The date of the newest row. All rows are searched for it before any is read: a recording says
/// first when it was made.
std::string newest_date(std::string_view text) {
  constexpr std::string_view kKey = "\"timestamp\"";
  std::string_view newest;
  for (auto at = text.find(kKey); at != text.npos; at = text.find(kKey, at + kKey.size())) {
    const std::size_t begin = text.find('"', at + kKey.size()) + 1;
    if (begin > 0 && text.find('"', begin) >= begin + 19) {
      newest = std::max(newest, text.substr(begin, 10));
    }
  }
  return std::string(newest);
}

class TunerFile {
 public:
  explicit TunerFile(const std::filesystem::path& path)
      : path_(path), text_(read_maybe_gzip(path)) {
    if (!find_rows()) {  // a cachefile whose tuner was stopped lacks its end
      text_.erase(text_.find_last_not_of(" \t\r\n,") + 1);
      text_ += "}}";
      if (!find_rows()) fail("expected JSON, of Kernel Tuner or T4");
    }
    const Json& header = *header_;
    parameters_ = find(header, "tune_params_keys");
    is_cachefile_ = parameters_ && cache_;
    if (!is_cachefile_ && !results_) {
      fail("neither a Kernel Tuner cachefile ('cache', 'tune_params_keys') nor T4 ('results')");
    }
    const std::string gpu = text_or_empty(header, "device_name");
    recording_.sweep = stem(path);
    recording_.device.name = gpu.empty() ? "an unnamed GPU" : gpu;
    recording_.recorded_at = newest_date(text_);
    const std::string kernel = text_or_empty(header, "kernel_name");
    blank_.kernel.name = blank_.kernel.op = kernel.empty() ? stem(path) : kernel;
    blank_.protocol = {"hot", 0};  // Kernel Tuner launches back to back and flushes nothing
    blank_.problem = read_problem(header, path);
    const Json* metadata = find(header, "metadata");
    unit_ = metadata ? text_or_empty(*metadata, "timeunit") : "";
  }

  /// Nothing when all was returned.
  std::optional<Recording> next(std::size_t max_trials) {
    const std::vector<Row>& rows = is_cachefile_ ? *cache_ : *results_;
    if (next_ > 0 && next_ >= rows.size()) return std::nullopt;
    Recording portion = recording_;
    const std::size_t end = next_ + std::min(max_trials, rows.size() - next_);
    portion.trials.reserve(end - next_);
    for (; next_ < end; ++next_) portion.trials.push_back(read(rows[next_]));
    next_ = std::max<std::size_t>(next_, 1);  // one without rows is returned once
    return portion;
  }

 private:
  struct Row {
    std::string_view key;  // in a cachefile
    std::string_view value;
  };

  [[noreturn]] void fail(std::string_view why) const {
    throw UsageError(fmt::format("{}: {}", path_.string(), why));
  }

  void check_size(std::size_t num_bytes) const {
    if (num_bytes > kMaxJsonBytes) fail(fmt::format("more than {} bytes of JSON", kMaxJsonBytes));
  }

  /// Finds the rows, and parses all else. False where the text is no object.
  bool find_rows() try {
    std::string header = "{";
    Scanner scanner(text_);
    if (scanner.peek() != '{') return false;
    scanner.take_parts([&](std::string_view key) {
      auto& rows = key == "cache" ? cache_ : results_;
      const bool is_rows =
          (key == "cache" && scanner.peek() == '{') || (key == "results" && scanner.peek() == '[');
      if (!is_rows || rows) {
        const std::string_view value = scanner.take_value();
        check_size(header.size() + key.size() + value.size());
        header += fmt::format(R"({}"{}":{})", header.size() == 1 ? "" : ",", key, value);
        return;
      }
      rows.emplace();
      scanner.take_parts([&](std::string_view row) {
        check_size(row.size());
        if (rows->size() == kMaxTunerRows) fail(fmt::format("more than {} rows", kMaxTunerRows));
        rows->push_back({row, scanner.take_value()});
      });
    });
    header += '}';
    check_json(header, path_.string());
    header_ = header_parser_.parse(header);
    return header_ && scanner.at_end();
  } catch (const Damage&) {
    cache_.reset();
    results_.reset();
    return false;
  }

  TrialRecord read(const Row& row) try {
    TrialRecord trial = blank_;
    check_json(row.value, name_of(row));
    const Json* json = row_parser_.parse(row.value);
    if (!json) throw Damage("expected JSON");
    if (is_cachefile_) {
      read_row(*json, *parameters_, trial);
    } else {
      read_result(*json, unit_, trial);
    }
    return trial;
  } catch (const Damage& damage) {
    throw UsageError(fmt::format("{}: {}", name_of(row), damage.what()));
  }

  /// For messages.
  std::string name_of(const Row& row) const {
    return is_cachefile_ ? fmt::format("{}: row {}", path_.string(), row.key)
                         : fmt::format("{}: result {}", path_.string(), next_);
  }

  std::filesystem::path path_;
  std::string text_;
  Parser header_parser_, row_parser_;
  const Json* header_ = nullptr;                     // all but the rows
  std::optional<std::vector<Row>> cache_, results_;  // of Kernel Tuner, and of T4
  std::size_t next_ = 0;                             // row
  const Json* parameters_ = nullptr;
  bool is_cachefile_ = false;
  std::string unit_;
  Recording recording_;  // what each portion begins with
  TrialRecord blank_;    // what each trial begins with
};

}  // namespace

bool is_tuner_file(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".json") || name.ends_with(".json.gz");
}

RecordingPortions read_tuner_file(const std::filesystem::path& path, std::size_t max_trials) {
  return [file = std::make_shared<TunerFile>(path), max_trials] { return file->next(max_trials); };
}

}  // namespace assay
