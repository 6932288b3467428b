#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/value.h"

/// What the readers of JSON results share.
namespace assay::json_text {

/// The members of an object as they stand in the text. To look each up among those before, as the
/// library's own map does, takes an hour for the keys that fit into a line.
template <class Key, class T, class Compare = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, T>>>
struct Members : nlohmann::ordered_map<Key, T, Compare, Allocator> {
  using nlohmann::ordered_map<Key, T, Compare, Allocator>::ordered_map;
  /// What the parser adds a member with.
  T& operator[](const Key& key) {
    this->emplace_back(key, T());
    return this->back().second;
  }
};
using Json = nlohmann::basic_json<Members>;

/// Nothing where the text is no JSON; call check_json before. Where a key comes twice, both stay,
/// and the first is found.
std::optional<Json> parse(std::string_view text);

/// What is wrong with a row. The reader of the file adds which row it is.
struct Damage : FormattedError {
  using FormattedError::FormattedError;
};

/// Goes through a text of JSON and tells where its parts are, without a look into them: a large one
/// can then be parsed part by part. That a part is JSON, its parser finds out. All functions throw
/// Damage where a bracket, a comma or a colon is missing.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  /// The next that is no space: the bracket of an object or a list, for example. NUL at the end.
  char peek();
  /// Calls `take_part` with each key of the object that comes next, or with nothing for each value
  /// of the list. It has to take the value. A key is as JSON has it between its quotes.
  template <class TakePart>
  void take_parts(TakePart&& take_part) {
    const char end = take("{[") == '{' ? '}' : ']';
    if (peek() == end) return skip();
    do {
      std::string_view key;
      if (end == '}') {
        key = take_name();
        take(":");
      }
      take_part(key);
    } while (take(end == '}' ? ",}" : ",]") == ',');
  }
  /// What comes next, as JSON.
  std::string_view take_value();
  bool at_end() { return peek() == '\0' && at_ == text_.size(); }

 private:
  std::string_view take_name();
  void skip() { ++at_; }
  char take(std::string_view expected);
  void skip_string();

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Of a value that is a string, an object, a list.
inline const std::string& view(const Json& value) { return value.get_ref<const std::string&>(); }
inline const Json::object_t& members(const Json& value) {
  return value.get_ref<const Json::object_t&>();
}
inline const Json::array_t& elements(const Json& value) {
  return value.get_ref<const Json::array_t&>();
}

/// Null where the object has none, or `object` is no object.
const Json* find(const Json& object, std::string_view key);

/// "" where it is missing or no string.
std::string text_or_empty(const Json& object, std::string_view key);

/// Throws Damage when it is missing.
const Json& member(const Json& object, std::string_view key);

/// The integer that `key` names. Throws Damage when it is none, or too large.
template <class Integer>
Integer integer(const Json& value, std::string_view key) {
  if (!value.is_number_integer()) throw Damage("'{}' is not an integer", key);
  const bool is_natural = value.is_number_unsigned();
  if (is_natural ? std::in_range<Integer>(value.get<std::uint64_t>())
                 : std::in_range<Integer>(value.get<std::int64_t>())) {
    return value.get<Integer>();
  }
  throw Damage("'{}' is out of range: {}", key, value.dump());
}

inline bool has_text(const Number&) { return true; }  // JSON has no infinity
inline bool has_text(const Value& value) {
  const auto* word = std::get_if<std::string>(&value);
  return !word || is_identifier(*word);
}

/// Whether the text of a configuration or problem can be turned back into it: the store keeps only
/// the text.
template <class Pairs>
bool is_its_text(const Pairs& pairs) {
  if (pairs.size() > kMaxParams) return false;
  for (auto pair = pairs.begin(); pair != pairs.end(); ++pair) {
    const auto same = [&](const auto& other) { return other.first == pair->first; };
    if (!is_identifier(pair->first) || !has_text(pair->second) ||
        std::any_of(pairs.begin(), pair, same)) {
      return false;
    }
  }
  return true;
}

}  // namespace assay::json_text
