#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/stats.h"
#include "ranking/claims.h"
#include "store/fields.h"
#include "store/gzip.h"
#include "store/recording_parts.h"
#include "store/store.h"

namespace assay {
namespace {

using namespace recording_parts;

/// What a line says of its samples must follow from them: whoever reads it cannot look at each.
template <class Claim>
Claim supported(Claim claim) {
  if (const std::string wrong = contradiction(claim); !wrong.empty()) throw Damage(wrong);
  return claim;
}

/// What lines above have defined, in their order.
using Defined =
    std::tuple<std::vector<KernelVersion>, std::vector<Toolchain>, std::vector<Protocol>>;

template <class Record>
Record read_json(const Json& object, const Defined& defined);

// What the fields of a record alone do not say.
template <class Record>
void complete(const Json&, Record&) {}

void complete(const Json& line, Timing& timing) {
  std::vector<double> known_mhz = timing.clocks_mhz;
  std::erase_if(known_mhz, [](double mhz) { return !(mhz > 0); });
  if (!known_mhz.empty()) timing.clock_mhz = median(known_mhz);
  if (find(line, "time")) return;
  for (const Json& measurement : list_of(member(line, "measurements"), "measurements")) {
    const Json* const value = find(measurement, "value");
    if (value && text(member(measurement, "name"), "name") == "time") {
      timing.median_ns = nanoseconds(number(*value, "value"));
    }
  }
}

void complete(const Json&, TrialRecord& trial) {
  Outcome& outcome = trial.outcome;
  // Recordings of before had no word of its own for what was only compiled.
  if (outcome.status == Status::correct && outcome.kind == "compiled") {
    outcome.status = Status::compiled;
    outcome.kind.clear();
  }
  std::erase_if(trial.measurements, [](const Measurement& each) { return each.name == "time"; });
  std::set<std::string_view> names;
  for (const Measurement& each : trial.measurements) {
    if (names.insert(each.name).second) continue;
    throw Damage(fmt::format("'measurements' has two of the name '{}'", each.name));
  }
}

void complete(const Json&, RankEntry& entry) try {
  if (!entry.kernel.empty()) parse_config(entry.config);  // it is looked for among the trials
} catch (const UsageError& error) {
  throw Damage(fmt::format("'config' of a rank: {}", error.what()));
}

void complete(const Json&, RankIdentity& identity) {
  if (identity.precision_ratio >= 0 && identity.precision_ratio < 1) return;
  throw Damage("'precision_ratio' is not 0 or a ratio below 1");
}

/// Reads the members of a JSON object into the fields of a record.
class JsonFields {
 public:
  /// `num_samples`: of the time that the object tells of, where that is read before.
  JsonFields(const Json& object, const Defined& defined, std::size_t num_samples = 0)
      : object_(object), defined_(defined), num_samples_(num_samples) {}

  template <class... Members>
  void operator()(const Field& field, Members&... members) {
    if (!field.key) return;
    std::string_view key = field.key;
    const Json* object = &object_;
    if (const std::size_t slash = key.find('/'); slash != key.npos) {
      const std::string_view outer = key.substr(0, slash);
      object = &object_of(member(object_, outer), outer);
      key.remove_prefix(slash + 1);
    }
    const Json* const value = find(*object, key);
    constexpr bool kMayLack = (!std::same_as<Members, typename Held<Members>::Type> || ...);
    if (!value && (kMayLack || field.is(kLenient | kOptional | kIfKnown))) return;
    if (!value) throw Damage(fmt::format("'{}' is missing", key));
    if constexpr (sizeof...(Members) == 1) {
      (read(field, key, *value, members), ...);
    } else {
      const auto list = list_of_numbers(*value, key, sizeof...(Members));
      rapidjson::SizeType next = 0;
      (read(field, key, list[next++], members), ...);
    }
  }
  bool has(const char* key, bool) const { return find(object_, key) != nullptr; }

 private:
  template <class T>
  void read(const Field& field, std::string_view key, const Json& value, T& into) {
    if constexpr (std::same_as<T, std::string>) {
      into = text(value, key);
    } else if constexpr (std::same_as<T, bool>) {
      if (!value.IsBool()) throw Damage(fmt::format("'{}' is not true or false", key));
      into = value.GetBool();
    } else if constexpr (std::integral<T>) {
      into = integer<T>(value, key);
    } else if constexpr (std::same_as<T, double>) {
      into = number(value, key);
      if (field.is(kMilliseconds)) into = nanoseconds(into);
    } else if constexpr (std::same_as<T, std::vector<double>>) {
      into = field.is(kClocks) ? read_clocks(value, num_samples_) : read_runtimes(value);
      num_samples_ = into.size();
    } else if constexpr (std::same_as<T, std::vector<std::string>>) {
      for (const Json& name : list_of(value, key)) {
        if (!name.IsString()) throw Damage(fmt::format("'{}' is not a list of names", key));
        into.emplace_back(view(name));
      }
    } else if constexpr (std::same_as<T, Config>) {
      into = read_config(value);
    } else if constexpr (std::same_as<T, Problem>) {
      into = read_problem(value, key);
    } else if constexpr (std::same_as<T, Status>) {
      read_status(value, into);
    } else if constexpr (Word<T>) {
      const auto word = Words<T>::parse(text(value, key));
      if (!word) throw Damage(Words<T>::expected);
      into = *word;
    } else if constexpr (Shared<T>) {
      read_shared(key, value, into);
    } else if constexpr (std::same_as<T, std::vector<KernelVersion>>) {
      for (const Json& each : list_of(value, key)) read_shared("kernel", each, into.emplace_back());
    } else if constexpr (std::same_as<T, Timing>) {
      into.samples_ns = read_runtimes(value);
      JsonFields timing(object_, defined_, into.samples_ns.size());
      fields(timing, into);
      complete(object_, into);
    } else if constexpr (Described<T>) {
      const Json& object = object_of(value, key);  // which may have only some of the members
      JsonFields members(object, defined_);
      fields(members, into);
      complete(object, into);
    } else if constexpr (Described<typename Held<T>::Type>) {
      read(field, key, value, into.emplace());
    } else {  // a list of records
      for (const Json& each : list_of(value, key)) {
        into.push_back(read_json<typename T::value_type>(each, defined_));
      }
    }
  }

  void read_status(const Json& value, Status& status) const {
    const auto word = parse_status(text(value, "invalidity"));
    if (!word) {
      throw Damage(
          fmt::format("'invalidity' is '{}'; expected one of {}", view(value), known_statuses()));
    }
    status = *word;
    const Json* const json = find(object_, "correctness");
    if (!json) return;
    const auto correctness = integer<int>(*json, "correctness");
    if (correctness != (status == Status::correct ? 1 : 0)) {
      throw Damage(
          fmt::format("'correctness' is {}, but 'invalidity' is {}", correctness, to_text(status)));
    }
  }

  /// The object itself, or the number of the line that defined it.
  template <Shared Part>
  void read_shared(std::string_view key, const Json& value, Part& into) const {
    if (value.IsObject()) {
      into = supported(read_json<Part>(value, defined_));
      return;
    }
    const auto& known = std::get<std::vector<Part>>(defined_);
    const auto index = integer<std::size_t>(value, key);
    if (index >= known.size()) {
      throw Damage(
          fmt::format("'{}' is {}, but only {} are defined above", key, index, known.size()));
    }
    into = known[index];
  }

  const Json& object_;
  const Defined& defined_;
  std::size_t num_samples_;
};

template <class Record>
Record read_json(const Json& object, const Defined& defined) {
  Record record;
  JsonFields reader(object, defined);
  fields(reader, record);
  complete(object, record);
  return record;
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
    if (define(line, "define_kernel", std::get<0>(defined_)) ||
        define(line, "define_toolchain", std::get<1>(defined_)) ||
        define(line, "define_protocol", std::get<2>(defined_))) {
      return;
    }
    if (find(line, "configuration")) {
      recording_.trials.push_back(read<TrialRecord>(whole(line, trial_, num_bytes)));
      note_compiled(recording_.trials.back());
    } else if (find(line, "baseline")) {
      recording_.baselines.push_back(read<BaselineRecord>(whole(line, baseline_, num_bytes)));
    } else if (find(line, "rank")) {
      RankRecord rank = read_json<RankRecord>(line, defined_);
      check_compiled(rank);
      recording_.ranks.push_back(supported(std::move(rank)));
    } else {
      throw Damage("neither a trial ('configuration'), a 'baseline', a 'rank' nor a definition");
    }
  }

  template <Shared Part>
  bool define(const Json& line, const char* key, std::vector<Part>& known) const {
    const Json* const json = find(line, key);
    if (json) known.push_back(supported(read_json<Part>(object_of(*json, key), defined_)));
    return json != nullptr;
  }

  template <class Record>
  Record read(const Json& line) const {
    return supported(read_json<Record>(line, defined_));
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
    recording_.sweep = text(member(line, "sweep"), "sweep");
    if (!is_one_line(recording_.sweep)) throw Damage("'sweep' has control characters");
    recording_.recorded_at = text(member(line, "recorded_at"), "recorded_at");
    if (!is_one_line(recording_.recorded_at)) throw Damage("'recorded_at' has control characters");
    recording_.device = read<DeviceInfo>(object_of(member(line, "device"), "device"));
    has_header_ = true;
  }

  void note_compiled(const TrialRecord& trial) {
    const Figures figures{trial.compile.registers, trial.compile.spill_bytes};
    const auto [known, is_new] = compiled_.try_emplace(
        key_of(trial.kernel.name, trial.protocol, trial.problem, to_text(trial.config)), figures);
    if (!is_new && known->second != figures) known->second.is_clear = false;
  }

  void check_compiled(const RankRecord& rank) const {
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
  Defined defined_;
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
