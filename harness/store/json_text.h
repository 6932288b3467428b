#pragma once

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/identifier.h"
#include "base/limits.h"
#include "base/value.h"

/// What the readers of JSON results share. They read with RapidJSON, which takes a fifth of
/// nlohmann-json's time. Its values must be asked for no other type than their own, hence these
/// functions.
namespace assay::json_text {

/// Has memory or throws std::bad_alloc: RapidJSON writes to what it gets without a look at it.
struct Allocator : rapidjson::CrtAllocator {
  static void* Malloc(std::size_t num_bytes);
  static void* Realloc(void* memory, std::size_t old_bytes, std::size_t num_bytes);
};
using Pool = rapidjson::MemoryPoolAllocator<Allocator>;
using AnyDocument = rapidjson::GenericDocument<rapidjson::UTF8<>, Pool, Allocator>;
using Json = AnyDocument::ValueType;

/// Reads numbers with the standard library: RapidJSON reads 0e30 as some other number, because its
/// exact reading counts the leading zero bits of a 0.
class Document : public AnyDocument {
 public:
  using AnyDocument::GenericDocument;
  /// Called by RapidJSON's reader, with a NUL behind the text. False where the number is too large.
  bool RawNumber(const char* text, rapidjson::SizeType length, bool copy);
};

/// Parses one text after another.
class Parser {
 public:
  /// Nothing where the text is no JSON; call check_json before. Where a key comes twice, both stay,
  /// and the first is found. The document is there until the next call.
  const Json* parse(std::string_view text);

 private:
  std::string text_;                  // which the document's strings lie in
  std::array<char, 1 << 16> memory_;  // enough for an ordinary line
  std::optional<Pool> allocator_;
  std::optional<Document> document_;
};

/// What is wrong with a row. The reader of the file adds which row it is.
struct Damage : std::runtime_error {
  using std::runtime_error::runtime_error;
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

/// The characters of a value that is a string.
inline std::string_view view(const Json& value) {
  return {value.GetString(), value.GetStringLength()};
}

/// The value as JSON again, for messages.
std::string written(const Json& value);

/// Null where the object has none, or `object` is no object.
const Json* find(const Json& object, std::string_view key);

/// "" where it is missing or no string.
std::string text_or_empty(const Json& object, std::string_view key);

/// Throws Damage when it is missing.
const Json& member(const Json& object, std::string_view key);

/// The integer that `key` names. Throws Damage when it is none, or too large.
template <class Integer>
Integer integer(const Json& value, std::string_view key) {
  if (value.IsUint64() && std::in_range<Integer>(value.GetUint64())) {
    return static_cast<Integer>(value.GetUint64());
  }
  if (value.IsInt64() && std::in_range<Integer>(value.GetInt64())) {
    return static_cast<Integer>(value.GetInt64());
  }
  if (!value.IsUint64() && !value.IsInt64()) {
    throw Damage(fmt::format("'{}' is not an integer", key));
  }
  throw Damage(fmt::format("'{}' is out of range: {}", key, written(value)));
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
