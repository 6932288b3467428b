#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/terminal.h"
#include "base/text.h"
#include "ranking/claims.h"
#include "store/gzip.h"
#include "store/json_text.h"
#include "store/store.h"
#include "store/tuner_rows.h"

namespace assay {
namespace {

using namespace json_text;  // both readers of JSON speak in its words

/// Python's JSON has three numbers more than JSON: they become null.
std::string with_nulls(const std::string& text) {
  if (text.find("NaN") == text.npos && text.find("Infinity") == text.npos) return text;
  std::string json;
  json.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    std::size_t length = 1;
    if (rest[0] == '"') {
      while (length < rest.size() && rest[length] != '"') length += rest[length] == '\\' ? 2 : 1;
      length = std::min(length + 1, rest.size());
    }
    const std::string_view word = rest.starts_with("NaN")         ? "NaN"
                                  : rest.starts_with("Infinity")  ? "Infinity"
                                  : rest.starts_with("-Infinity") ? "-Infinity"
                                                                  : "";
    json += word.empty() ? rest.substr(0, length) : "null";
    at += word.empty() ? length : word.size();
  }
  return json;
}

/// x, y and z of a Kernel Tuner problem; nothing when the problem is computed in Python.
Problem read_problem(const Json& document, const std::filesystem::path& path) try {
  Problem problem;
  tuner_rows::RowWords words;
  const auto add = [&](const Json& size) {
    if (!(size.is_number_integer() || size.is_string()) || problem.size() == 3) return false;
    const Value value = words.value("problem_size", size);  // also of "4096"
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number) problem.emplace_back(std::string(1, "XYZ"[problem.size()]), *number);
    return number != nullptr;
  };
  const Json* sizes = find(document, "problem_size");
  if (!sizes) return {};
  if (!sizes->is_array()) return add(*sizes) ? problem : Problem();
  for (const Json& size : elements(*sizes)) {
    if (!add(size)) return {};
  }
  return problem;
} catch (const Damage& damage) {
  throw UsageError("{}: {}", path.string(), damage.what());
}

bool is_table(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".csv") || name.ends_with(".csv.gz");
}

/// "convolution_A100" of "convolution_A100.json.gz".
std::string stem(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.substr(0, name.find(is_table(path) ? ".csv" : ".json"));
}

/// "ns__gemm_float_" of "ns::gemm<float>": every other character becomes an underscore.
std::string identifier_of(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return !is_identifier_part(c); }, '_');
  return is_identifier(name) ? name : '_' + name;
}

/// The date of the newest row. All rows are searched for it before any is read: a recording says
/// first when it was made.
std::string newest_date(std::string_view text) {
  constexpr std::string_view kKey = "\"timestamp\"";
  std::string_view newest;
  for (auto at = text.find(kKey); at != text.npos; at = text.find(kKey, at + kKey.size())) {
    const std::size_t begin = text.find('"', at + kKey.size()) + 1;
    if (begin == 0 || text.find('"', begin) < begin + 19) continue;
    const std::string_view date = text.substr(begin, 10);
    if (is_timestamp(std::string(date) + "T00:00:00Z")) newest = std::max(newest, date);
  }
  return std::string(newest);
}

class TunerFile {
 public:
  explicit TunerFile(const std::filesystem::path& path) : path_(path) {
    try {
      text_ = read_maybe_gzip(path);
      text_ = is_table(path) ? tuner_rows::json_of_table(text_) : with_nulls(text_);
    } catch (const Damage& damage) {
      fail(damage.what());
    }
    if (!find_rows()) {  // a cachefile whose tuner was stopped lacks its end
      text_.erase(text_.find_last_not_of(" \t\r\n,") + 1);
      text_ += "}}";
      if (!find_rows()) fail("expected JSON, of Kernel Tuner, T4, KTT or BAT");
    }
    const Json& header = *header_;
    const Json* metadata = find(header, "metadata");
    std::string gpu = text_or_empty(header, "device_name");
    if (format_ == Format::cachefile) {
      read_parameters(member(header, "tune_params_keys"));
    } else if (format_ == Format::ktt) {
      const Json* ktt = find(header, "Metadata");
      reader_.unit = ktt ? text_or_empty(*ktt, "TimeUnit") : "";
      gpu = ktt ? text_or_empty(*ktt, "Device") : "";
    } else if (metadata) {
      reader_.unit = text_or_empty(*metadata, "timeunit");
      if (gpu.empty()) gpu = text_or_empty(*metadata, "device");
    }
    reader_.format = *format_;
    recording_.sweep = stem(path);
    recording_.device.name = gpu.empty() ? "an unnamed GPU" : printable_line(gpu);
    recording_.recorded_at = newest_date(text_);
    const std::string kernel = text_or_empty(header, "kernel_name");
    blank_.kernel.name = blank_.kernel.op = identifier_of(kernel.empty() ? stem(path) : kernel);
    blank_.protocol = {"hot", 0};  // Kernel Tuner launches back to back and flushes nothing
    blank_.problem = read_problem(header, path);
    bring_runs_together();
  }

  /// Nothing when all was returned.
  std::optional<Recording> next(std::size_t max_trials) {
    if (is_returned_) return std::nullopt;
    Recording portion = recording_;
    while (next_ < rows_.size() && portion.trials.size() < max_trials) {
      std::vector<TrialRecord> runs;
      for (const std::size_t first = rows_[next_].first_run;
           next_ < rows_.size() && rows_[next_].first_run == first; ++next_) {
        if (auto run = read(rows_[next_])) runs.push_back(std::move(*run));
      }
      if (runs.empty()) continue;
      ++num_trials_;
      // A cachefile is a dictionary of Python's: a later row takes the place of an earlier one.
      if (format_ == Format::cachefile) runs.erase(runs.begin(), runs.end() - 1);
      portion.trials.push_back(tuner_rows::combined(std::move(runs)));
    }
    if (next_ == rows_.size()) finish();
    return portion;
  }

 private:
  using Format = tuner_rows::Format;

  struct Row {
    std::string_view key;  // in a cachefile
    std::string_view value;
    std::uint32_t number = 0;     // in the file
    std::uint32_t first_run = 0;  // the number of the first row of the same configuration
  };

  [[noreturn]] void fail(std::string_view why) const {
    throw UsageError("{}: {}", path_.string(), why);
  }

  void check_size(std::size_t num_bytes) const {
    if (num_bytes > kMaxJsonBytes) fail(fmt::format("more than {} bytes of JSON", kMaxJsonBytes));
  }

  void read_parameters(const Json& names) {
    if (!names.is_array()) fail("'tune_params_keys' is not a list of names");
    for (const Json& name : elements(names)) {
      if (!name.is_string()) fail("'tune_params_keys' is not a list of names");
      reader_.parameters.push_back(view(name));
    }
  }

  void take_rows(Scanner& scanner, Format format) {
    format_ = format;
    scanner.take_parts([&](std::string_view key) {
      const std::string_view value = scanner.take_value();
      check_size(value.size());
      if (rows_.size() == kMaxTunerRows) fail(fmt::format("more than {} rows", kMaxTunerRows));
      const auto number = static_cast<std::uint32_t>(rows_.size());
      rows_.push_back({key, value, number, number});
    });
  }

  /// Finds the rows, and parses all else. False where the text is no object and no list.
  bool find_rows() try {
    rows_.clear();
    format_.reset();
    std::string header = "{";
    Scanner scanner(text_);
    if (scanner.peek() == '[') {
      take_rows(scanner, Format::bat);
    } else if (scanner.peek() == '{') {
      scanner.take_parts([&](std::string_view key) {
        const char begin = scanner.peek();
        if (!format_ && key == "cache" && begin == '{')
          return take_rows(scanner, Format::cachefile);
        if (!format_ && key == "results" && begin == '[') return take_rows(scanner, Format::t4);
        if (!format_ && key == "Results" && begin == '[') return take_rows(scanner, Format::ktt);
        const std::string_view value = scanner.take_value();
        check_size(header.size() + key.size() + value.size());
        header += fmt::format(R"({}"{}":{})", header.size() == 1 ? "" : ",", key, value);
      });
    } else {
      return false;
    }
    if (!scanner.at_end()) return false;
    header += '}';
    check_json(header, path_.string());
    header_ = parse(header);
    if (!header_) return false;
    if (!format_ || (format_ == Format::cachefile && !find(*header_, "tune_params_keys"))) {
      fail(
          "neither a Kernel Tuner cachefile ('cache', 'tune_params_keys') nor T4 ('results'), "
          "KTT ('Results') or BAT (a list)");
    }
    return true;
  } catch (const Damage&) {
    return false;
  }

  /// Brings rows of one configuration next to each other, where the first of them stands.
  void bring_runs_together() {
    std::unordered_map<std::string, std::uint32_t> first_runs;
    std::size_t num_runs = 0;
    for (Row& row : rows_) {
      TrialRecord trial = blank_;
      try {
        reader_.read_config(parsed(row), trial);
      } catch (const Damage&) {
        continue;  // read() says so
      }
      std::ranges::sort(trial.config);
      const std::string text = trial.kernel.name + ' ' + to_text(trial.config);
      row.first_run = first_runs.try_emplace(text, row.number).first->second;
      if (row.first_run != row.number) ++num_runs;
    }
    for (const std::string& change : reader_.words.changes()) warn(change);
    if (num_runs == 0) return;
    std::ranges::stable_sort(rows_,
                             [](const Row& a, const Row& b) { return a.first_run < b.first_run; });
    warn(fmt::format(
        "{} of {} rows are further runs of a configuration: {}", num_runs, rows_.size(),
        format_ == Format::cachefile ? "the last run of each is read, as Kernel Tuner does"
                                     : "the samples of all its runs are put together"));
  }

  Json parsed(const Row& row) {
    try {
      check_json(row.value, "JSON");
    } catch (const UsageError& error) {  // too many levels
      throw Damage(error.what());
    }
    std::optional<Json> json = parse(row.value);
    if (!json) throw Damage("expected JSON");
    return *std::move(json);
  }

  /// Nothing where the row cannot be read.
  std::optional<TrialRecord> read(const Row& row) try {
    TrialRecord trial = blank_;
    const Json json = parsed(row);
    reader_.read_config(json, trial);
    reader_.read_outcome(json, trial);
    if (const std::string wrong = contradiction(trial); !wrong.empty()) throw Damage(wrong);
    return trial;
  } catch (const Damage& damage) {
    constexpr std::size_t kMostWarnings = 3;
    const std::string why = fmt::format("{}: {}", name_of(row), damage.what());
    if (num_left_out_++ == 0) why_left_out_ = why;
    if (num_left_out_ <= kMostWarnings && rows_.size() > 1) warn(why + "; it is left out");
    return std::nullopt;
  } catch (const tuner_rows::Unreadable& error) {
    fail(fmt::format("{}: {}", name_of(row), error.what()));
  }

  void finish() {
    is_returned_ = true;
    if (num_left_out_ > 0 && num_trials_ == 0) fail(why_left_out_);
    if (num_left_out_ > 0) {
      warn(fmt::format("{} of {} rows are left out", num_left_out_, rows_.size()));
    }
  }

  void warn(const std::string& what) const { print_err("warning: {}: {}\n", path_.string(), what); }

  /// For messages.
  std::string name_of(const Row& row) const {
    return format_ == Format::cachefile ? fmt::format("row {}", row.key)
                                        : fmt::format("result {}", row.number);
  }

  std::filesystem::path path_;
  std::string text_;
  std::optional<Json> header_;  // all but the rows
  std::optional<Format> format_;
  std::vector<Row> rows_;
  std::size_t next_ = 0;  // row
  bool is_returned_ = false;
  std::size_t num_trials_ = 0, num_left_out_ = 0;
  std::string why_left_out_;
  tuner_rows::TunerRowReader reader_;
  Recording recording_;  // what each portion begins with
  TrialRecord blank_;    // what each trial begins with
};

}  // namespace

bool is_tuner_file(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".json") || name.ends_with(".json.gz") || is_table(path);
}

RecordingPortions read_tuner_file(const std::filesystem::path& path, std::size_t max_trials) {
  return [file = std::make_shared<TunerFile>(path), max_trials] { return file->next(max_trials); };
}

}  // namespace assay
