#include "base/value.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/find_named.h"
#include "base/text.h"

namespace assay {
namespace {

std::optional<Value> parse_value(std::string_view text) {
  if (const auto integer = number_of<std::int64_t>(text)) return *integer;
  if (is_identifier(text)) return std::string(text);
  return std::nullopt;
}

std::optional<Number> parse_number(std::string_view text) {
  if (const auto integer = number_of<std::int64_t>(text)) return *integer;
  if (text.find_first_of(".e") == std::string_view::npos) return std::nullopt;
  const auto value = number_of<double>(text);
  return value && std::isfinite(*value) ? std::optional(to_number(*value)) : std::nullopt;
}

/// Splits `A=1,B=2` and hands each value's text to `parse`, which answers nothing when it is not
/// `what`.
template <typename T, typename Parse>
std::vector<std::pair<std::string, T>> parse_pairs(std::string_view text, std::string_view what,
                                                   Parse parse) {
  std::vector<std::pair<std::string, T>> pairs;
  if (text.empty()) return pairs;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    const auto value =
        equals == std::string_view::npos ? std::nullopt : parse(part.substr(equals + 1));
    if (!is_identifier(name) || !value) {
      throw UsageError("expected {}, found \"{}\" in \"{}\"", what, part, text);
    }
    if (find_value(pairs, name)) {
      throw UsageError("\"{}\" is given twice in \"{}\"", name, text);
    }
    pairs.emplace_back(std::string(name), *value);
    begin = end + 1;
  }
  return pairs;
}

template <typename Pairs>
std::string join(const Pairs& pairs) {
  std::string text;
  for (const auto& [name, value] : pairs) {
    text.append(text.empty() ? "" : ",").append(name).append("=").append(to_text(value));
  }
  return text;
}

}  // namespace

std::string to_text(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  return std::get<std::string>(value);
}

std::string to_text(const Number& number) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, number);
}

Number to_number(double value) {
  if (std::floor(value) == value && std::fabs(value) < 0x1p63) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

double to_real(const Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

std::string to_text(const Config& config) { return join(config); }
std::string to_text(const Problem& problem) { return join(problem); }

Config parse_config(std::string_view text) {
  return parse_pairs<Value>(text, "NAME=value", parse_value);
}

Problem parse_problem(std::string_view text) {
  return parse_pairs<Number>(text, "NAME=number", parse_number);
}

}  // namespace assay
