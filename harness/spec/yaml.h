#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "spec/source_text.h"

namespace assay {

class YamlNode;
using YamlPtr = std::shared_ptr<const YamlNode>;

/// A key of a map and its value.
struct YamlEntry {
  std::string key;
  Location where;  // of the key
  YamlPtr value;
};

/// One node of a YAML file. Reading is strict and every mistake is a SpecError at the node:
/// `expected WHAT, found ...`, where `what` is the caller's word for the thing.
class YamlNode {
 public:
  enum class Kind { nothing, scalar, list, map };

  YamlNode(Kind kind, Location where) : kind_(kind), where_(std::move(where)) {}

  /// A scalar with this text, so that a key can be checked as values are.
  static YamlNode scalar(Location where, std::string text);
  /// A list and a map made of nodes of other files, each of which keeps its place.
  static YamlPtr list_of(Location where, std::vector<YamlPtr> items);
  static YamlPtr map_of(Location where, std::vector<YamlEntry> entries);

  Kind kind() const { return kind_; }
  const Location& where() const { return where_; }

  /// The place of byte `offset` of a scalar's text, quotes and folded lines taken into account.
  Location at(std::size_t offset) const;

  /// What stands here, as messages name it: `"abc"`, `a list`, `nothing`.
  std::string found() const;
  [[noreturn]] void fail(const std::string& message) const;
  template <typename Part, typename... Parts>
  [[noreturn]] void fail(fmt::format_string<Part, Parts...> format, Part&& part,
                         Parts&&... parts) const {
    throw SpecError(where_, format, std::forward<Part>(part), std::forward<Parts>(parts)...);
  }
  [[noreturn]] void fail_expected(std::string_view what) const;
  template <typename Part, typename... Parts>
  [[noreturn]] void fail_expected(fmt::format_string<Part, Parts...> format, Part&& part,
                                  Parts&&... parts) const {
    fail_expected(fmt::format(format, std::forward<Part>(part), std::forward<Parts>(parts)...));
  }

  /// Any scalar, as written.
  const std::string& text(std::string_view what) const;
  /// A C identifier that is no keyword, since it may become a macro, an enumerator or an entry
  /// point.
  const std::string& identifier(std::string_view what) const;
  /// Whether YAML 1.1 reads this as a boolean: `yes`, `Off`, `n`, without quotes.
  bool is_yaml_boolean() const;
  /// Whether this is a scalar that integer() takes for a number.
  bool looks_integer() const;
  /// A decimal integer without quotes, sign `+` or leading zeros.
  std::int64_t integer(std::string_view what, std::int64_t low = INT64_MIN,
                       std::int64_t high = INT64_MAX) const;
  /// `true` or `false`, not `on`, `yes` or `1`.
  bool boolean(std::string_view what) const;
  /// A decimal number, `0.005`, `5e-3` or `0.5%`.
  double positive_number(std::string_view what) const;
  double non_negative_number(std::string_view what) const;
  /// The same, or with a sign.
  double number(std::string_view what) const;
  /// The text, which is one of `allowed`; the message lists them otherwise.
  const std::string& one_of(std::string_view what, const std::vector<std::string>& allowed) const;

  bool is_empty_list() const { return kind_ == Kind::list && items_.empty(); }
  /// The items of a list that is not empty.
  const std::vector<YamlPtr>& list(std::string_view what) const;
  /// The entries of a map, in the order written; keys are unique.
  const std::vector<YamlEntry>& map(std::string_view what) const;
  /// The value of `key` where this is a map that has it, or null.
  const YamlNode* find(std::string_view key) const;

  /// What is there of a text, a list or a map; nothing where this is something else.
  const std::string& any_text() const { return text_; }
  const std::vector<YamlPtr>& any_items() const { return items_; }
  const std::vector<YamlEntry>& any_entries() const { return entries_; }

 private:
  friend class YamlBuilder;
  friend YamlPtr with_word(const YamlPtr& node, std::string_view word, std::string_view text);

  YamlNode with_word(std::string_view word, std::string_view text, bool is_name) const;

  double decimal(std::string_view digits, std::string_view what) const;
  [[noreturn]] void fail_number(std::string_view what) const;

  Kind kind_;
  bool quoted_ = false;
  Location where_;
  std::string text_;
  std::string written_;               // as it stands in the file, where with_word changed text_
  std::vector<std::size_t> origins_;  // then: where in it each byte of text_ comes from
  std::size_t num_bytes_ = 1;         // of the file's text, with aliases written out
  std::vector<YamlPtr> items_;
  std::vector<YamlEntry> entries_;
};

/// Whether YAML 1.1 reads the word as a boolean.
bool is_yaml_boolean(std::string_view word);

/// The keys of a map that has no others, and what messages call the map.
struct MapKeys {
  std::string what;
  std::vector<std::string> required, optional = {};
};

/// A map whose keys are fixed: refuses unknown and missing ones. `node` must outlive it.
class YamlMap {
 public:
  YamlMap(const YamlNode& node, const MapKeys& keys)
      : YamlMap(node, keys.what, keys.required, keys.optional) {}
  YamlMap(const YamlNode& node, std::string_view what, const std::vector<std::string>& required,
          const std::vector<std::string>& optional = {});

  /// The value of a required key.
  const YamlNode& operator[](std::string_view key) const { return *find(key); }
  /// The value of an optional key, or null.
  const YamlNode* find(std::string_view key) const { return node_.find(key); }
  /// Sets `target` to what `reader` makes of the value of an optional key, where the key is given.
  template <typename Target, typename Read, typename... Args>
  void read(std::string_view key, Target& target, Read reader, const Args&... args) const {
    if (const YamlNode* node = find(key)) {
      target = static_cast<Target>(std::invoke(reader, *node, args...));
    }
  }

 private:
  const YamlNode& node_;
};

/// The tree with `text` for each `word` of letters, digits and underscores in its values. In the
/// name that `op` or `entry` gives also between underscores: `gemm_T`. Places are those of the
/// file.
YamlPtr with_word(const YamlPtr& node, std::string_view word, std::string_view text);

/// Parses one YAML document, with two differences from YAML for the sake of expressions: a comma
/// inside parentheses does not separate (`[cdiv(M, 64), 1]` has two items, not three), and `!`
/// starts no tag. Throws SpecError.
YamlPtr load_yaml(const std::filesystem::path& path);

}  // namespace assay
