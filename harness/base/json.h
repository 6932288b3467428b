#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/value.h"

// The JSON library has a macro that lists the fields of a struct. Here are the types of fields that
// it does not know.

/// An optional without a value is null.
template <typename T>
struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(json& target, const std::optional<T>& value) {
    if (value) {
      target = *value;
    } else {
      target = nullptr;
    }
  }
  static void from_json(const json& source, std::optional<T>& value) {
    if (source.is_null()) {
      value.reset();
    } else {
      value = source.get<T>();
    }
  }
};

template <>
struct nlohmann::adl_serializer<assay::Number> {
  static void to_json(json& target, const assay::Number& value) {
    std::visit([&](auto v) { target = v; }, value);
  }
  static void from_json(const json& source, assay::Number& value) {
    if (source.is_number_float()) {
      value = source.get<double>();
    } else {
      value = source.get<std::int64_t>();
    }
  }
};

namespace assay {

/// The enumerator that `parse` finds for a text. Throws Error naming a text that it does not know,
/// and what the JSON library throws for anything but a text.
template <typename Enum>
Enum read_word(const nlohmann::json& source, std::optional<Enum> (*parse)(std::string_view)) {
  const auto& text = source.get_ref<const std::string&>();
  if (const std::optional<Enum> value = parse(text)) return *value;
  throw Error("the message has the unknown word \"{}\"", text);
}

}  // namespace assay
