#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/file.h"
#include "spec/sweep_spec.h"
#include "store/fields.h"
#include "store/gzip.h"
#include "store/recording_format.h"
#include "store/store.h"

// The format is described in results/README.md. What a whole line leaves out is zero, empty or
// false. What another line leaves out is as in the line before.

namespace assay {
namespace {

using OrderedJson = nlohmann::ordered_json;

// JSON has no digits for these numbers. They do occur: an output full of NaN has a NaN for its
// error, and a median of few samples has an infinite interval.
OrderedJson real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

// Milliseconds with the digits down to a tenth of a nanosecond; events resolve 32 ns on an H200.
// The quotient is the double nearest to that decimal, so JSON prints no more digits.
OrderedJson milliseconds(double ns) { return real(std::round(ns * 10) / 1e7); }

// Errors of a check and ratios of a re-rank mean nothing beyond these digits.
OrderedJson significant(double value) {
  return real(std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr));
}

// So many samples are a list, which people and programs read more easily.
constexpr std::size_t kMostListed = 8;

OrderedJson runtimes(const std::vector<double>& samples_ns) {
  if (samples_ns.size() > kMostListed) {
    if (auto packed = pack_samples(samples_ns, kPartsPerNs)) return *std::move(packed);
  }
  OrderedJson list = OrderedJson::array();
  for (const double ns : samples_ns) list.push_back(milliseconds(ns));
  return list;
}

// Whole megahertz: clocks move in steps of 15, and stamps of a short kernel are no finer.
OrderedJson clocks(const std::vector<double>& clocks_mhz) {
  if (clocks_mhz.size() > kMostListed) {
    if (auto packed = pack_samples(clocks_mhz, kPartsPerMhz)) return *std::move(packed);
  }
  OrderedJson list = OrderedJson::array();
  for (const double mhz : clocks_mhz) list.push_back(std::lround(mhz));
  return list;
}

OrderedJson to_json(const Value& value) {
  return std::visit([](const auto& held) { return OrderedJson(held); }, value);
}

OrderedJson to_json(const Number& number) {
  return std::visit([](auto value) { return OrderedJson(value); }, number);
}

template <class Pairs>
OrderedJson pairs_json(const Pairs& pairs) {
  OrderedJson object = OrderedJson::object();
  for (const auto& [name, value] : pairs) object[name] = to_json(value);
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

// Builds the text. Before its first use a kernel, toolchain or protocol gets a line of its own.
// From then on it is its number among the lines of its kind.
class Writer {
 public:
  explicit Writer(const Recording& recording) {
    add({{"assay_recording", 2},
         {"sweep", recording.sweep},
         {"recorded_at", recording.recorded_at},
         {"device", object(recording.device)}});
    for (const TrialRecord& trial : recording.trials) {
      add_changes(object(trial), trial_, "kernel", "configuration");
    }
    for (const BaselineRecord& baseline : recording.baselines) {
      add_changes(object(baseline), baseline_, "op", "baseline");
    }
    for (const RankRecord& rank : recording.ranks) add(object(rank));
  }

  const std::string& text() const { return text_; }

 private:
  /// The last line of a kind. A reader keeps no more of it than kMaxContinuedBytes.
  struct Before {
    OrderedJson line = {};
    std::size_t num_bytes = 0;  // since the last whole line, with it
  };

  /// Adds what is otherwise than in the line before, or the whole line, which alone says `first`.
  /// All lines say `kind`.
  void add_changes(OrderedJson line, Before& before, const char* first, const char* kind) {
    OrderedJson patch = changes(before.line, line);
    if (!patch.contains(kind)) {
      patch[kind] = line[kind].is_object() ? OrderedJson::object() : line[kind];
    }
    std::string text = dumped(patch);
    // A patch would leave the names in the order of the line before.
    const auto is_in_order = [&](const char* key) {
      return !line.contains(key) || has_same_names(before.line[key], line[key]);
    };
    const std::size_t num_bytes = before.num_bytes + text.size();
    const bool is_whole = patch.contains(first) || num_bytes > kMaxContinuedBytes ||
                          !is_in_order("problem") || !is_in_order("configuration");
    if (is_whole) text = dumped(line);
    add(text);
    before = {std::move(line), is_whole ? text.size() : num_bytes};
  }

  void add(const OrderedJson& line) { add(dumped(line)); }

  void add(const std::string& line) {
    text_ += line;
    text_ += '\n';
    if (text_.size() > kMaxStreamedBytes) {
      throw UsageError(
          fmt::format("a recording has at most {} bytes, and this sweep's would have more; let "
                      "several sweeps share its problems",
                      kMaxStreamedBytes));
    }
  }

  template <Described Record>
  OrderedJson object(const Record& record) {
    Fields visitor{*this};
    fields(visitor, record);
    return std::move(visitor.json);
  }

  /// The fields of a record as the members of an object.
  struct Fields {
    Writer& writer;
    OrderedJson json = OrderedJson::object();

    template <class... Members>
    void operator()(const Field& field, const Members&... members) {
      if (!field.key) return;
      if constexpr (sizeof...(Members) == 1) {
        (put(field, members), ...);
      } else {
        if (field.is(kOptional | kIfKnown) && std::get<0>(std::tie(members...)) == 0) return;
        json[field.key] = OrderedJson::array({number(field, members)...});
      }
    }
    bool has(const char*, bool is_there) const { return is_there; }

    static OrderedJson number(const Field& field, double value) {
      if (field.is(kMilliseconds)) return milliseconds(value);
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
        // A recording that does not say is taken to have had the default.
        if (value.time_limit_s == MeasureSpec{}.max_seconds_per_config) json.erase("time_limit_s");
      } else if constexpr (!std::same_as<T, typename Held<T>::Type>) {
        if (value) put(field, *value);
      } else {
        OrderedJson made = made_of(field, value);
        if (field.is(kOptional | kIfKnown) && is_left_out(field, value, made)) return;
        place(field.key) = std::move(made);
        if constexpr (std::same_as<T, Status>) {
          if (value != Status::compiled) json["correctness"] = value == Status::correct ? 1 : 0;
        }
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

  std::string text_;
  Before trial_, baseline_;
  std::tuple<std::vector<KernelVersion>, std::vector<Toolchain>, std::vector<Protocol>> known_;
};

}  // namespace

void write_recording(const Recording& recording, const std::filesystem::path& path) {
  const Writer writer(recording);
  const bool packed = path.extension() == ".gz";
  write_file_atomic(path, packed ? gzip(writer.text()) : writer.text());
}

}  // namespace assay
