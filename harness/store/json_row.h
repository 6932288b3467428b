#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/value.h"

/// What the readers of JSON results share.
namespace assay::json_row {

/// What is wrong with a row. The reader of the file adds which row it is.
struct Damage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws Damage when it is missing.
inline const nlohmann::ordered_json& member(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw Damage(fmt::format("'{}' is missing", key));
  return *found;
}

/// The integer that `key` names. Throws Damage when it is none, or too large.
template <class Integer>
Integer integer(const nlohmann::ordered_json& value, const char* key) {
  if (!value.is_number_integer()) throw Damage(fmt::format("'{}' is not an integer", key));
  // The library would read 2^64 - 1 as -1.
  const bool fits = value.is_number_unsigned() ? std::in_range<Integer>(value.get<std::uint64_t>())
                                               : std::in_range<Integer>(value.get<std::int64_t>());
  if (!fits) throw Damage(fmt::format("'{}' is out of range: {}", key, value.dump()));
  return value.get<Integer>();
}

/// Whether `parse` turns the text of a configuration or problem back into it. The store keeps only
/// the text.
template <class Pairs, class Parse>
bool is_its_text(const Pairs& pairs, Parse parse) {
  try {
    return parse(to_text(pairs)) == pairs;
  } catch (const UsageError&) {
    return false;
  }
}

}  // namespace assay::json_row
