#include <fmt/format.h>

#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/bounded_json.h"
#include "base/error.h"
#include "ranking/claims.h"
#include "store/fields.h"
#include "store/gzip.h"
#include "store/recording_format.h"
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

/// What a trial was compiled from, and what the compiler made of it.
struct Code {
  KernelVersion kernel;
  Toolchain toolchain;
  std::string config;  // a text takes a fifth of the memory
  CompileReport compile;
};

/// What lines above have defined, in their order.
struct Defined {
  std::tuple<std::vector<KernelVersion>, std::vector<Toolchain>, std::vector<Protocol>> parts;
  std::vector<Code> codes;

  template <class Part>
  const Part& at(const std::vector<Part>& known, std::string_view key, const Json& value) const {
    const auto index = integer<std::size_t>(value, key);
    if (index < known.size()) return known[index];
    throw Damage("'{}' is {}, but only {} are defined above", key, index, known.size());
  }

  /// The code that a line names; null where it names none.
  const Code* code_of(const Json& line) const {
    const Json* const number = find(line, "code");
    return number ? &at(codes, "code", *number) : nullptr;
  }
};

template <class Record>
Record read_json(const Json& object, const Defined& defined);

// What the fields of a record alone do not say.
template <class Record>
void complete(const Json&, const Defined&, Record&) {}

void complete(const Json&, const Defined&, TrialRecord& trial) {
  std::set<std::string_view> names;
  for (const Measurement& each : trial.measurements) {
    if (names.insert(each.name).second) continue;
    throw Damage("'measurements' has two of the name '{}'", each.name);
  }
}

void complete(const Json& object, const Defined& defined, NoiseFloor& noise) {
  if (const Code* const code = defined.code_of(object)) {
    noise.kernel = code->kernel.name;
    noise.config = code->config;
  }
}

void complete(const Json& object, const Defined& defined, RankEntry& entry) try {
  if (const Code* const code = defined.code_of(object)) {
    entry.kernel = code->kernel.name;
    entry.config = code->config;
    const std::string wrong = contradiction(entry, code->compile);
    if (!wrong.empty()) throw Damage(wrong);
  }
  if (!entry.kernel.empty()) parse_config(entry.config);  // it is looked for among the trials
} catch (const UsageError& error) {
  throw Damage("'config' of a rank: {}", error.what());
}

void complete(const Json&, const Defined&, RankIdentity& identity) {
  if (identity.precision_ratio >= 0 && identity.precision_ratio < 1) return;
  throw Damage("'precision_ratio' is not 0 or a ratio below 1");
}

/// Changes the fields of a record as the members of a JSON object say: a merge patch (RFC 7396).
class JsonFields {
 public:
  /// `is_whole`: what is missing is not as it was, but zero, empty or false. `num_samples`: of the
  /// time that the object tells of, where that is read before.
  JsonFields(const Json& object, const Defined& defined, bool is_whole, std::size_t num_samples = 0)
      : object_(object), defined_(defined), is_whole_(is_whole), num_samples_(num_samples) {}

  template <class... Members>
  void operator()(const Field& field, Members&... members) {
    if constexpr (sizeof...(Members) == 1) {
      if (field.key) (change_member(field, members), ...);
    }  // several follow from samples
  }
  bool has(const char* key, bool) const { return find(object_, key) != nullptr; }

 private:
  /// What "key" or "object/key" names.
  const Json* value_of(std::string_view key) const {
    const std::size_t slash = key.find('/');
    if (slash == key.npos) return find(object_, key);
    const Json* const object = find(object_, key.substr(0, slash));
    if (!object || object->is_null()) return object;
    return find(object_of(*object, key.substr(0, slash)), key.substr(slash + 1));
  }

  template <class T>
  void change_member(const Field& field, T& member) {
    const std::string_view key(field.key);
    const Json* const value = value_of(key);
    const bool is_there = value && !value->is_null();
    constexpr bool kMayLack = !std::same_as<T, typename Held<T>::Type>;
    if (!is_there && (value || is_whole_)) {
      if (!kMayLack && !field.is(kLenient | kOptional | kIfKnown)) {
        throw Damage("'{}' is missing", key.substr(key.find('/') + 1));
      }
      clear(field, member);
    } else if constexpr (std::same_as<typename Held<T>::Type, Timing>) {
      if (is_there || member_of(member)) read_timing(value, member);
    } else if (is_there) {
      read(field, key.substr(key.find('/') + 1), *value, member);
    }
  }

  template <class T>
  void clear(const Field& field, T& member) {
    if constexpr (std::same_as<T, double>) {
      member = field.absent;
    } else if constexpr (Described<T> && !Shared<T>) {
      static const Json kNone = Json::object();
      JsonFields none(kNone, defined_, true);
      fields(none, member);
    } else {
      member = T();
    }
  }

  static Timing* member_of(Timing& timing) { return &timing; }
  static Timing* member_of(std::optional<Timing>& timing) { return timing ? &*timing : nullptr; }

  /// The other figures of a time are not beside its samples, but in the object around them.
  template <class T>
  void read_timing(const Json* samples, T& member) {
    bool is_whole = is_whole_;
    if constexpr (!std::same_as<T, Timing>) {
      if (!member) {
        is_whole = true;
        member.emplace();
      }
    }
    Timing& timing = *member_of(member);
    if (samples) timing.samples_ns = read_runtimes(*samples);
    if (!timing.clocks_mhz.empty()) timing.clock_mhz = 0;  // it followed from those
    JsonFields others(object_, defined_, is_whole, timing.samples_ns.size());
    fields(others, timing);
    if (!timing.samples_ns.empty()) derive(timing);
  }

  template <class T>
  void read(const Field& field, std::string_view key, const Json& value, T& into) {
    if constexpr (std::same_as<T, std::string>) {
      into = text(value, key);
    } else if constexpr (std::same_as<T, bool>) {
      if (!value.is_boolean()) throw Damage("'{}' is not true or false", key);
      into = value.get<bool>();
    } else if constexpr (std::integral<T>) {
      into = integer<T>(value, key);
    } else if constexpr (std::same_as<T, double>) {
      into = number(value, key);
      if (field.is(kMilliseconds)) into = nanoseconds(into);
    } else if constexpr (std::same_as<T, std::vector<double>>) {
      into = field.is(kClocks) ? read_clocks(value, num_samples_) : read_runtimes(value);
      num_samples_ = into.size();
    } else if constexpr (std::same_as<T, std::vector<std::string>>) {
      into.clear();
      for (const Json& name : list_of(value, key)) {
        if (!name.is_string()) throw Damage("'{}' is not a list of names", key);
        into.push_back(view(name));
      }
    } else if constexpr (std::same_as<T, Config> || std::same_as<T, Problem>) {
      change(into, value, key);
    } else if constexpr (Word<T>) {
      const auto word = Words<T>::parse(text(value, key));
      if (!word) throw Damage(Words<T>::expected);
      into = *word;
    } else if constexpr (Shared<T>) {
      read_shared(key, value, into);
    } else if constexpr (std::same_as<T, std::vector<KernelVersion>>) {
      into.clear();
      for (const Json& each : list_of(value, key)) read_shared("kernel", each, into.emplace_back());
    } else if constexpr (Described<typename Held<T>::Type>) {
      bool is_whole = is_whole_;
      if constexpr (!Described<T>) {
        if (!into) {
          is_whole = true;
          into.emplace();
        }
      }
      change_object(object_of(value, key), is_whole, into);
    } else {  // a list of records
      into.clear();
      for (const Json& each : list_of(value, key)) {
        into.push_back(read_json<typename T::value_type>(each, defined_));
      }
    }
  }

  template <class T>
  void change_object(const Json& object, bool is_whole, T& record) {
    JsonFields members(object, defined_, is_whole);
    fields(members, record);
    complete(object, defined_, record);
  }
  template <class T>
  void change_object(const Json& object, bool is_whole, std::optional<T>& record) {
    change_object(object, is_whole, *record);
  }

  /// The object itself, or the number of the line that defined it.
  template <Shared Part>
  void read_shared(std::string_view key, const Json& value, Part& into) const {
    if (value.is_object()) {
      into = supported(read_json<Part>(value, defined_));
      return;
    }
    into = defined_.at(std::get<std::vector<Part>>(defined_.parts), key, value);
  }

  const Json& object_;
  const Defined& defined_;
  bool is_whole_;
  std::size_t num_samples_;
};

template <class Record>
Record read_json(const Json& object, const Defined& defined) {
  Record record;
  JsonFields reader(object, defined, true);
  fields(reader, record);
  complete(object, defined, record);
  return record;
}

/// The line before, of a kind of which each line may leave out what is as in the line before.
template <class Record>
class Continued {
 public:
  /// Only a whole line has the key `first`.
  explicit Continued(const char* first) : first_(first) {}

  /// The record of a line of `num_bytes`. Members that the line lacks are those of the line before.
  const Record& whole(const Json& line, const Defined& defined, std::size_t num_bytes) {
    const bool is_whole = num_bytes_ == 0 || find(line, first_);
    num_bytes_ = num_bytes + (is_whole ? 0 : num_bytes_);
    if (!is_whole && num_bytes_ > kMaxContinuedBytes) {
      throw Damage("no '{}', and the lines since the last with one have over {} bytes", first_,
                   kMaxContinuedBytes);
    }
    if (is_whole) before_ = Record();
    if constexpr (std::same_as<Record, TrialRecord>) {
      if (const Code* const code = defined.code_of(line)) {
        before_.kernel = code->kernel;
        before_.toolchain = code->toolchain;
        before_.config = parse_config(code->config);
        const double compile_ms = std::exchange(before_.compile, code->compile).compile_ms;
        before_.compile.compile_ms = compile_ms;  // which is the trial's
      }
    }
    JsonFields reader(line, defined, is_whole);
    fields(reader, before_);
    complete(line, defined, before_);
    return before_;
  }

 private:
  const char* first_;
  Record before_ = {};
  std::size_t num_bytes_ = 0;  // since the last whole line, with it
};

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
    if (!has_header_) throw UsageError("{}:1: no recording: the file is empty", path_.string());
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
          "{}: expected a recording, found a database; `assay db merge` joins databases",
          path_.string());
    }
    check_json(line, where);
    try {
      const std::optional<Json> json = parse(line);
      if (!json) throw Damage("not a line of JSON");
      read_thing(*json, line.size());
    } catch (const Damage& damage) {
      throw UsageError("{}: {}", where, damage.what());
    }
  }

  void read_thing(const Json& line, std::size_t num_bytes) {
    if (!line.is_object()) throw Damage("not a JSON object");
    if (!has_header_) return read_header(line);
    auto& [kernels, toolchains, protocols] = defined_.parts;
    if (define(line, "define_kernel", kernels) || define(line, "define_toolchain", toolchains) ||
        define(line, "define_protocol", protocols)) {
      return;
    }
    if (find(line, "configuration") || find(line, "code")) {
      const TrialRecord& trial = trial_.whole(line, defined_, num_bytes);
      if (!find(line, "code") && num_bytes <= kMaxContinuedBytes &&
          defined_.codes.size() < kMaxCodes) {
        defined_.codes.push_back(
            {trial.kernel, trial.toolchain, to_text(trial.config), trial.compile});
      }
      recording_.trials.push_back(supported(trial));
    } else if (find(line, "baseline")) {
      recording_.baselines.push_back(supported(baseline_.whole(line, defined_, num_bytes)));
    } else if (find(line, "rank")) {
      auto rank = read_json<RankRecord>(line, defined_);
      if (const std::string wrong = derive(rank); !wrong.empty()) throw Damage(wrong);
      recording_.ranks.push_back(std::move(rank));
    } else {
      throw Damage(
          "neither a trial ('configuration' or 'code'), a 'baseline', a 'rank' nor a definition");
    }
  }

  template <Shared Part>
  bool define(const Json& line, const char* key, std::vector<Part>& known) const {
    const Json* const json = find(line, key);
    if (json) known.push_back(supported(read_json<Part>(object_of(*json, key), defined_)));
    return json != nullptr;
  }

  void read_header(const Json& line) {
    const auto format = integer<int>(member(line, "assay_recording"), "assay_recording");
    if (format != 2 && format != kRecordingFormat) {
      throw Damage("recording format {}; this assay reads 2 and {}", format, kRecordingFormat);
    }
    recording_.sweep = text(member(line, "sweep"), "sweep");
    if (!is_one_line(recording_.sweep)) throw Damage("'sweep' has control characters");
    recording_.recorded_at = text(member(line, "recorded_at"), "recorded_at");
    if (!is_one_line(recording_.recorded_at)) throw Damage("'recorded_at' has control characters");
    recording_.device =
        supported(read_json<DeviceInfo>(object_of(member(line, "device"), "device"), defined_));
    has_header_ = true;
  }

  std::filesystem::path path_;
  LineReader lines_;
  bool at_end_ = false;
  std::size_t line_number_ = 0;
  bool has_header_ = false;
  Continued<TrialRecord> trial_{"kernel"};
  Continued<BaselineRecord> baseline_{"op"};
  Defined defined_;
  Recording recording_;  // what next() returns
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
