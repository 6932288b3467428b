#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/file.h"
#include "spec/sweep_spec.h"
#include "store/fields.h"
#include "store/gzip.h"
#include "store/recording_format.h"
#include "store/store.h"

// The format is described in results/README.md. What a whole line leaves out is zero, empty or
// false. What another line leaves out is as in the line before, or as in the code that it names.

namespace assay {
namespace {

using OrderedJson = nlohmann::ordered_json;

// JSON has no digits for these numbers. They do occur: an output full of NaN has a NaN for its
// error.
OrderedJson real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

// Milliseconds with the digits down to a tenth of a nanosecond; events resolve 32 ns on an H200.
// The quotient is the double nearest to that decimal, so JSON prints no more digits.
OrderedJson milliseconds(double ns) { return real(std::round(ns * 10) / 1e7); }

// Errors of a check mean nothing beyond these digits.
OrderedJson significant(double value) {
  return real(std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr));
}

OrderedJson runtimes(const std::vector<double>& samples_ns) {
  if (auto packed = pack_samples(samples_ns, kPartsPerNs)) return *std::move(packed);
  OrderedJson list = OrderedJson::array();
  for (const double ns : samples_ns) list.push_back(milliseconds(ns));
  return list;
}

// Whole megahertz: clocks move in steps of 15, and stamps of a short kernel are no finer.
OrderedJson megahertz(double mhz) {
  const double whole = std::round(mhz);
  if (std::abs(whole) < kMaxExact) return static_cast<std::int64_t>(whole);
  return real(whole);
}

OrderedJson clocks(const std::vector<double>& clocks_mhz) {
  if (auto packed = pack_samples(clocks_mhz, kPartsPerMhz)) return *std::move(packed);
  OrderedJson list = OrderedJson::array();
  for (const double mhz : clocks_mhz) list.push_back(megahertz(mhz));
  return list;
}

template <class Pairs>
OrderedJson pairs_json(const Pairs& pairs) {
  OrderedJson object = OrderedJson::object();
  for (const auto& [name, value] : pairs) {
    std::visit([&member = object[name]](const auto& held) { member = held; }, value);
  }
  return object;
}

bool has_same_names(const OrderedJson& a, const OrderedJson& b) {
  const auto& names = a.get_ref<const OrderedJson::object_t&>();
  const auto& others = b.get_ref<const OrderedJson::object_t&>();
  return std::equal(names.begin(), names.end(), others.begin(), others.end(),
                    [](const auto& one, const auto& other) { return one.first == other.first; });
}

// What of `line` is otherwise than in `before`, as a JSON merge patch (RFC 7396).
OrderedJson changes(const OrderedJson& before, const OrderedJson& line) {
  OrderedJson patch = OrderedJson::object();
  for (const auto& [key, value] : line.items()) {
    const auto old = before.find(key);
    if (old != before.end() && *old == value) continue;
    const bool goes_on = old != before.end() && old->is_object() && value.is_object();
    patch[key] = goes_on ? changes(*old, value) : value;
  }
  for (const auto& [key, value] : before.items()) {
    if (!line.contains(key)) patch[key] = nullptr;
  }
  return patch;
}

std::string dumped(const OrderedJson& line) {
  // A compile log may hold any bytes; JSON is UTF-8.
  return line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

// What a code is, of the members of a trial.
constexpr std::array kOfCode = {"kernel", "toolchain", "configuration", "compile"};

// Builds the text. Before its first use a kernel, toolchain or protocol gets a line of its own.
// Later lines refer to the kernel, toolchain or protocol by number, counted from 0 for each kind. A
// code is a compiled configuration. Its number counts the trials that defined a code before.
class Writer {
 public:
  explicit Writer(const Recording& recording) {
    add({{"assay_recording", kRecordingFormat},
         {"sweep", recording.sweep},
         {"recorded_at", recording.recorded_at},
         {"device", object(recording.device)}});
    for (const TrialRecord& trial : recording.trials) add_trial(trial);
    for (const BaselineRecord& baseline : recording.baselines) {
      OrderedJson line = object(baseline);
      OrderedJson patch = changes(baseline_.line, line);
      patch["baseline"] = baseline.name;
      add_changes(std::move(line), patch, baseline_, "op");
    }
    for (const RankRecord& rank : recording.ranks) add(object(rank));
  }

  const std::string& text() const { return text_; }

 private:
  /// The last line of a kind. A reader keeps no more of it than kMaxContinuedBytes.
  struct Before {
    OrderedJson line = OrderedJson::object();
    std::size_t num_bytes = 0;  // since the last whole line, with it
  };

  void add_trial(const TrialRecord& trial) {
    OrderedJson line = object(trial);
    OrderedJson code;
    for (const char* key : kOfCode) {
      if (line.contains(key)) code[key] = line[key];
    }
    if (code.contains("compile")) code["compile"].erase("cached");  // which is the trial's
    const std::string name = dumped(code);
    const auto known = codes_.find(name);
    OrderedJson before = trial_.line;
    if (known != codes_.end()) {
      for (const char* key : kOfCode) {
        before.erase(key);
        if (known->second.json.contains(key)) before[key] = known->second.json[key];
      }
    }
    OrderedJson patch = changes(before, line);
    if (known != codes_.end()) {
      patch["code"] = known->second.number;
    } else if (!patch.contains("configuration")) {
      patch["configuration"] = OrderedJson::object();
    }
    const OrderedJson compile = line.value("compile", OrderedJson::object());
    const bool is_new = add_changes(std::move(line), patch, trial_, "kernel");
    if (is_new && trial_.num_bytes <= kMaxContinuedBytes && num_codes_ < kMaxCodes) {
      if (!compile.empty()) code["compile"] = compile;
      codes_.try_emplace(name, Code{num_codes_, std::move(code)});
      Named& named =
          names_.try_emplace({trial.kernel.name, to_text(trial.config)}, num_codes_, trial.compile)
              .first->second;
      named.is_clear = named.is_clear && named.compile.registers == trial.compile.registers &&
                       named.compile.spill_bytes == trial.compile.spill_bytes;
      ++num_codes_;
    }
  }

  /// Adds what is otherwise than in the line before, or the whole line, which alone says `first`.
  /// Whether the line names no code.
  bool add_changes(OrderedJson line, const OrderedJson& patch, Before& before, const char* first) {
    std::string text = dumped(patch);
    // A patch would leave the names in the order of the line before.
    const auto is_in_order = [&](const char* key) {
      return !line.contains(key) || !before.line.contains(key) ||
             has_same_names(before.line[key], line[key]);
    };
    const std::size_t num_bytes = before.num_bytes + text.size();
    const bool is_named = patch.contains("code");
    const bool is_whole = patch.contains(first) || num_bytes > kMaxContinuedBytes ||
                          !is_in_order("problem") || (!is_named && !is_in_order("configuration"));
    if (is_whole) text = dumped(line);
    add(text);
    before = {std::move(line), is_whole ? text.size() : num_bytes};
    return is_whole || !is_named;
  }

  void add(const OrderedJson& line) { add(dumped(line)); }

  void add(const std::string& line) {
    text_ += line;
    text_ += '\n';
    if (text_.size() > kMaxStreamedBytes) {
      throw UsageError(
          "a recording has at most {} bytes, and this sweep's would have more; let "
          "several sweeps share its problems",
          kMaxStreamedBytes);
    }
  }

  template <Described Record>
  OrderedJson object(const Record& record) {
    Fields visitor{*this};
    fields(visitor, record);
    if constexpr (std::same_as<Record, RankEntry> || std::same_as<Record, NoiseFloor>) {
      const auto named = names_.find({record.kernel, record.config});
      if (named != names_.end() && named->second.is_clear) {
        visitor.json.erase("config");
        visitor.json.erase("kernel");
        visitor.json["code"] = named->second.number;
      }
    }
    return std::move(visitor.json);
  }

  /// The fields of a record as the members of an object.
  struct Fields {
    Writer& writer;
    OrderedJson json = OrderedJson::object();

    template <class... Members>
    void operator()(const Field& field, const Members&... members) {
      if constexpr (sizeof...(Members) == 1) {
        if (field.key) (put(field, members), ...);
      }  // several follow from samples
    }
    bool has(const char*, bool is_there) const { return is_there; }

    static OrderedJson number(const Field& field, double value) {
      if (field.is(kMilliseconds)) return milliseconds(value);
      if (field.is(kClocks)) return megahertz(value);
      if (field.is(kMicroseconds)) return real(std::round(value * 1e3) / 1e3);
      return field.is(kSixDigits) ? significant(value) : real(value);
    }

    OrderedJson& place(std::string_view key) {
      const std::size_t slash = key.find('/');
      if (slash == key.npos) return json[std::string(key)];
      return json[std::string(key.substr(0, slash))][std::string(key.substr(slash + 1))];
    }

    template <class T>
    void put(const Field& field, const T& value) {
      if constexpr (std::same_as<T, Timing>) {
        place(field.key) = runtimes(value.samples_ns);
        fields(*this, value);
        // The clocks were a twelfth of a recording, and only their median is of use later.
        json.erase("clocks_mhz");
        // A recording that does not say is taken to have had the default.
        if (value.time_limit_s == MeasureSpec{}.max_seconds_per_config) json.erase("time_limit_s");
      } else if constexpr (!std::same_as<T, typename Held<T>::Type>) {
        if (value) put(field, *value);
      } else {
        OrderedJson made = made_of(field, value);
        if (field.is(kOptional | kIfKnown) && is_left_out(field, value, made)) return;
        place(field.key) = std::move(made);
      }
    }

    template <class T>
    static bool is_left_out(const Field& field, const T& value, const OrderedJson& made) {
      if constexpr (std::same_as<T, double>) {
        return made == field.absent;
      } else if constexpr (std::integral<T> || Word<T>) {
        return value == T();
      } else if constexpr (Described<T>) {
        return made.empty();
      } else {
        return value.empty();
      }
    }

    template <class T>
    OrderedJson made_of(const Field& field, const T& value) {
      if constexpr (std::same_as<T, double>) {
        return number(field, value);
      } else if constexpr (std::same_as<T, std::vector<double>>) {
        return field.is(kClocks) ? clocks(value) : runtimes(value);
      } else if constexpr (Word<T>) {
        return to_text(value);
      } else if constexpr (std::same_as<T, Problem> || std::same_as<T, Config>) {
        return pairs_json(value);
      } else if constexpr (Shared<T>) {
        return writer.number(value);
      } else if constexpr (std::same_as<T, std::vector<KernelVersion>>) {
        OrderedJson list = OrderedJson::array();
        for (const KernelVersion& kernel : value) list.push_back(writer.number(kernel));
        return list;
      } else if constexpr (Described<T>) {
        return writer.object(value);
      } else if constexpr (std::constructible_from<OrderedJson, T>) {
        return value;
      } else {
        OrderedJson list = OrderedJson::array();
        for (const auto& each : value) list.push_back(writer.object(each));
        return list;
      }
    }
  };

  template <Shared Part>
  std::size_t number(const Part& part) {
    auto& known = std::get<std::vector<Part>>(known_);
    const auto found = std::ranges::find(known, part);
    const auto index = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) {
      add(OrderedJson::object({{fmt::format("define_{}", kTable<Part>), object(part)}}));
      known.push_back(part);
    }
    return index;
  }

  struct Code {
    std::size_t number = 0;
    OrderedJson json = {};
  };

  /// The code of a kernel's configuration, whose figures a metric of a verdict may have read.
  struct Named {
    std::size_t number;
    const CompileReport& compile;  // of the recording
    bool is_clear = true;          // false: versions of the kernel differ in these figures
    Named(std::size_t code, const CompileReport& report) : number(code), compile(report) {}
  };

  std::string text_;
  Before trial_, baseline_;
  std::size_t num_codes_ = 0;
  std::unordered_map<std::string, Code> codes_;                 // by what they are
  std::map<std::pair<std::string, std::string>, Named> names_;  // by kernel and configuration
  std::tuple<std::vector<KernelVersion>, std::vector<Toolchain>, std::vector<Protocol>> known_;
};

}  // namespace

void write_recording(const Recording& recording, const std::filesystem::path& path) {
  const Writer writer(recording);
  const bool packed = path.extension() == ".gz";
  write_file_atomic(path, packed ? gzip(writer.text()) : writer.text());
}

}  // namespace assay
