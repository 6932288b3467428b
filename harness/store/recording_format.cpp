#include "store/recording_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "base/limits.h"

namespace assay {
namespace {

// Without vowels, t and x: with them, a search for words found samples that spelled them.
constexpr std::string_view kDigits =
    "0123456789bcdfghjklmnpqrsvwyzBCDFGHJKLMNPQRSVWYZ!#$%*+,.:;=?@_";
// The first of two characters: how often all digits are counted through before the second.
constexpr std::string_view kTurns = "/&-<>[]^{|}~";

/// Takes a number and the character behind it off the front of the text.
template <class T>
std::optional<T> take_number(std::string_view& text, char end) {
  T number = 0;
  const auto [behind, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || behind == text.data() + text.size() || *behind != end) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(behind - text.data()) + 1);
  return number;
}

std::optional<double> take_count(std::string_view& text) {
  const char first = text.front();
  text.remove_prefix(1);
  if (first == '(') {
    const auto count = take_number<std::uint64_t>(text, ')');
    return count ? std::optional(static_cast<double>(*count)) : std::nullopt;
  }
  std::size_t turns = 0;
  char digit = first;
  if (const std::size_t turn = kTurns.find(first); turn != kTurns.npos && !text.empty()) {
    turns = turn + 1;
    digit = text.front();
    text.remove_prefix(1);
  }
  const std::size_t count = kDigits.find(digit);
  if (count == kDigits.npos) return std::nullopt;
  return static_cast<double>(turns * kDigits.size() + count);
}

}  // namespace

std::optional<std::string> pack_samples(const std::vector<double>& samples, int parts) {
  if (samples.empty()) return std::nullopt;
  std::vector<std::int64_t> counts;
  counts.reserve(samples.size());
  for (const double sample : samples) {
    const double count = std::round(sample * parts);
    if (!(std::abs(count) < kMaxExact)) return std::nullopt;
    counts.push_back(static_cast<std::int64_t>(count));
  }
  const std::int64_t least = *std::ranges::min_element(counts);
  std::int64_t step = 0;
  for (const std::int64_t count : counts) step = std::gcd(step, count - least);
  if (step == 0) step = parts;  // all are alike
  std::string text =
      fmt::format("{} {} ", static_cast<double>(least) / parts, static_cast<double>(step) / parts);
  for (const std::int64_t count : counts) {
    const auto steps = static_cast<std::size_t>((count - least) / step);
    const std::size_t turns = steps / kDigits.size();
    if (turns > kTurns.size()) {
      fmt::format_to(std::back_inserter(text), "({})", steps);
      continue;
    }
    if (turns > 0) text += kTurns[turns - 1];
    text += kDigits[steps % kDigits.size()];
  }
  return text;
}

std::optional<std::vector<double>> unpack_samples(std::string_view text, int parts) {
  const auto least = take_number<double>(text, ' ');
  if (!least || !std::isfinite(*least)) return std::nullopt;
  const auto step = take_number<double>(text, ' ');
  if (!step || !std::isfinite(*step)) return std::nullopt;
  std::vector<double> samples;
  samples.reserve(text.size());
  while (!text.empty()) {
    const auto count = take_count(text);
    if (!count) return std::nullopt;
    samples.push_back(std::round((*least + *step * *count) * parts) / parts);
  }
  return samples;
}

}  // namespace assay

namespace assay::recording_parts {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value value_of(const Json& value, std::string_view name, const Config&) {
  if (value.is_string()) return std::string(view(value));
  return integer<std::int64_t>(value, name);
}

Number value_of(const Json& value, std::string_view name, const Problem&) {
  return value.is_number_float() ? to_number(value.get<double>())
                                 : integer<std::int64_t>(value, name);
}

}  // namespace

template <class Pairs>
void change(Pairs& pairs, const Json& patch, std::string_view key) {
  for (const auto& [name, value] : members(object_of(patch, key))) {
    const auto found = std::ranges::find(pairs, name, &Pairs::value_type::first);
    if (value.is_null()) {
      if (found != pairs.end()) pairs.erase(found);
    } else if (found != pairs.end()) {
      found->second = value_of(value, name, pairs);
    } else if (pairs.size() == kMaxParams) {  // each is looked up among the others
      throw Damage("'{}' has more than {} names", key, kMaxParams);
    } else {
      pairs.emplace_back(name, value_of(value, name, pairs));
    }
  }
  if (is_its_text(pairs)) return;
  throw Damage("'{}' has a name or a word that is none", key);
}
template void change(Config&, const Json&, std::string_view);
template void change(Problem&, const Json&, std::string_view);

const Json& object_of(const Json& value, std::string_view key) {
  if (!value.is_object()) throw Damage("'{}' is not an object", key);
  return value;
}

const Json::array_t& list_of(const Json& value, std::string_view key) {
  if (!value.is_array()) throw Damage("'{}' is not a list", key);
  return elements(value);
}

const Json::array_t& list_of_numbers(const Json& value, std::string_view key, std::size_t size) {
  if (!value.is_array() || value.size() != size) {
    throw Damage("'{}' is not a list of {} numbers", key, size);
  }
  return elements(value);
}

double number(const Json& value, std::string_view key) {
  if (value.is_number()) return value.get<double>();
  const std::string_view word = value.is_string() ? view(value) : std::string_view();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf") return kInfinity;
  if (word == "-inf") return -kInfinity;
  throw Damage("'{}' is not a number", key);
}

double nanoseconds(double ms) { return std::round(ms * 1e7) / 10; }

std::string text(const Json& value, std::string_view key) {
  if (!value.is_string()) throw Damage("'{}' is not a string", key);
  return std::string(view(value));
}

std::vector<double> read_runtimes(const Json& value) {
  if (value.is_string()) {
    auto samples_ns = unpack_samples(view(value), kPartsPerNs);
    if (!samples_ns) throw Damage("'runtimes' is neither a list nor a text of samples");
    return *std::move(samples_ns);
  }
  const auto& list = list_of(value, "runtimes");
  std::vector<double> samples_ns;
  samples_ns.reserve(list.size());
  for (const Json& ms : list) {
    samples_ns.push_back(nanoseconds(number(ms, "runtimes")));
    if (!std::isfinite(samples_ns.back())) {
      throw Damage("'runtimes' has {}, which is no time", ms.dump());
    }
  }
  return samples_ns;
}

std::vector<double> read_clocks(const Json& value, std::size_t num_samples) {
  if (value.is_string()) {
    auto unpacked = unpack_samples(view(value), kPartsPerMhz);
    if (unpacked && unpacked->size() == num_samples) return *std::move(unpacked);
  }
  std::vector<double> clocks_mhz;
  for (const Json& mhz : list_of_numbers(value, "clocks_mhz", num_samples)) {
    clocks_mhz.push_back(number(mhz, "clocks_mhz"));
  }
  return clocks_mhz;
}

}  // namespace assay::recording_parts
