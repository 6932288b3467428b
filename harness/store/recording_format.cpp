#include "store/recording_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>

namespace assay {
namespace {

// Without vowels, t and x: with them, a search for words found samples that spelled them.
constexpr std::string_view kDigits =
    "0123456789bcdfghjklmnpqrsvwyzBCDFGHJKLMNPQRSVWYZ!#$%*+,.:;=?@_";
// The first of two characters: how often all digits are counted through before the second.
constexpr std::string_view kTurns = "/&-<>[]^{|}~";
constexpr double kMaxExact = 9007199254740992;  // 2^53

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
