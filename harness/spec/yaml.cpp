#include "spec/yaml.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"

namespace assay {
namespace {

/// `text` in quotes, fit for one line of a message.
std::string quote(std::string_view text) {
  constexpr std::size_t kMaxShown = 60;
  std::string shown(text.substr(0, kMaxShown));
  std::ranges::replace_if(
      shown, [](char c) { return std::iscntrl(static_cast<unsigned char>(c)); }, ' ');
  if (text.size() > kMaxShown) shown += "...";
  return fmt::format("\"{}\"", shown);
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t'; }

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

bool is_decimal(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return all_digits(text) && (text.size() == 1 || text[0] != '0');
}

std::size_t position_of(const Location& where) {
  std::size_t begin = 0;
  for (int line = 1; line < where.line; ++line) begin = where.source->text.find('\n', begin) + 1;
  return begin + static_cast<std::size_t>(where.column) - 1;
}

}  // namespace

bool is_yaml_boolean(std::string_view word) {
  constexpr std::string_view kWords[] = {"y", "yes", "n", "no", "true", "false", "on", "off"};
  std::string lower(word);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // `yes`, `Yes` and `YES`, but not `yES`.
  const bool is_spelled_so =
      word == lower || word.substr(1) == std::string_view(lower).substr(1) ||
      std::ranges::none_of(word, [](char c) { return c >= 'a' && c <= 'z'; });
  return is_spelled_so && std::ranges::find(kWords, lower) != std::end(kWords);
}

YamlNode YamlNode::scalar(Location where, std::string text) {
  YamlNode node(Kind::scalar, std::move(where));
  node.text_ = std::move(text);
  return node;
}

YamlPtr YamlNode::list_of(Location where, std::vector<YamlPtr> items) {
  const auto node = std::make_shared<YamlNode>(Kind::list, std::move(where));
  node->items_ = std::move(items);
  return node;
}

YamlPtr YamlNode::map_of(Location where, std::vector<YamlEntry> entries) {
  const auto node = std::make_shared<YamlNode>(Kind::map, std::move(where));
  node->entries_ = std::move(entries);
  return node;
}

Location YamlNode::at(std::size_t offset) const {
  const std::string& source = where_.source->text;
  const std::string& text = origins_.empty() ? text_ : written_;
  if (!origins_.empty()) offset = origins_[std::min(offset, origins_.size() - 1)];
  std::size_t position = position_of(where_) + (quoted_ ? 1 : 0);
  // Walks text and source in step. Where a line was folded, one space stands for a line's end and
  // the next line's indentation.
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    while (position < source.size() && source[position] != text[i] && is_space(source[position])) {
      ++position;
    }
    if (position < source.size() && source[position] == text[i]) {
      ++position;
    } else if (text[i] != ' ') {
      return where_;  // an escape or a block scalar
    }
  }
  if (offset < text.size() && text[offset] != ' ') {
    while (position < source.size() && is_space(source[position])) ++position;
  }
  return location_at(where_.source, position);
}

std::string YamlNode::found() const {
  switch (kind_) {
    case Kind::nothing:
      return "nothing";
    case Kind::scalar:
      return quoted_ ? "the text " + quote(text_) : quote(text_);
    case Kind::list:
      return items_.empty() ? "an empty list" : "a list";
    default:
      return "a map";
  }
}

void YamlNode::fail(const std::string& message) const { throw SpecError(where_, message); }

void YamlNode::fail_expected(std::string_view what) const {
  fail("expected {}, found {}", what, found());
}

const std::string& YamlNode::text(std::string_view what) const {
  if (kind_ != Kind::scalar) fail_expected(what);
  return text_;
}

const std::string& YamlNode::identifier(std::string_view what) const {
  const std::string& name = text(what);
  if (!is_identifier(name)) fail_expected("{} of letters, digits and underscores", what);
  if (is_reserved(name)) {
    fail("expected {}, found {}, which is reserved in C++ or in expressions", what, quote(name));
  }
  return name;
}

bool YamlNode::is_yaml_boolean() const {
  return kind_ == Kind::scalar && !quoted_ && assay::is_yaml_boolean(text_);
}

void YamlNode::fail_number(std::string_view what) const {
  fail("expected {}, found {}{}", what, found(), is_yaml_boolean() ? "; write 1 and 0" : "");
}

bool YamlNode::looks_integer() const {
  return kind_ == Kind::scalar && !quoted_ && is_decimal(text_);
}

std::int64_t YamlNode::integer(std::string_view what, std::int64_t low, std::int64_t high) const {
  const std::string range = low == INT64_MIN    ? std::string()
                            : high == INT64_MAX ? fmt::format(" of at least {}", low)
                                                : fmt::format(" from {} to {}", low, high);
  std::int64_t value = 0;
  const auto read = std::from_chars(text_.data(), text_.data() + text_.size(), value).ec;
  if (looks_integer() && read == std::errc::result_out_of_range) {
    fail_expected("{}{} that fits in 64 bits", what, range);
  }
  if (!looks_integer() || read != std::errc() || value < low || value > high) {
    fail_number(fmt::format("{}{}", what, range));
  }
  return value;
}

bool YamlNode::boolean(std::string_view what) const {
  if (kind_ != Kind::scalar || quoted_ || (text_ != "true" && text_ != "false")) {
    fail_expected("true or false for {}", what);
  }
  return text_ == "true";
}

double YamlNode::positive_number(std::string_view what) const {
  const double value = non_negative_number(what);
  if (value == 0) fail_expected(what);
  return value;
}

double YamlNode::number(std::string_view what) const {
  return !quoted_ && text_.starts_with('-') ? -decimal(std::string_view(text_).substr(1), what)
                                            : non_negative_number(what);
}

double YamlNode::non_negative_number(std::string_view what) const {
  return decimal(quoted_ ? std::string_view() : text_, what);
}

double YamlNode::decimal(std::string_view digits, std::string_view what) const {
  const bool percent = digits.ends_with('%');
  if (percent) digits.remove_suffix(1);
  const std::size_t power = digits.find('e');
  const std::string_view fixed = digits.substr(0, power);
  std::string_view exponent = power == std::string_view::npos ? "0" : digits.substr(power + 1);
  if (exponent.starts_with('-')) exponent.remove_prefix(1);
  const std::size_t point = fixed.find('.');
  const bool decimal = all_digits(fixed.substr(0, point)) && all_digits(exponent) &&
                       (point == std::string_view::npos || all_digits(fixed.substr(point + 1)));
  double value = 0;
  if (!decimal ||
      std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc()) {
    fail_number(what);
  }
  return percent ? value / 100 : value;
}

const std::string& YamlNode::one_of(std::string_view what,
                                    const std::vector<std::string>& allowed) const {
  const std::string& value = text(what);
  if (std::ranges::find(allowed, value) == allowed.end()) {
    fail("expected {} ({}), found {}", what, fmt::join(allowed, ", "), quote(value));
  }
  return value;
}

const std::vector<YamlPtr>& YamlNode::list(std::string_view what) const {
  if (kind_ != Kind::list || items_.empty()) fail_expected(what);
  return items_;
}

const std::vector<YamlEntry>& YamlNode::map(std::string_view what) const {
  if (kind_ != Kind::map) fail_expected(what);
  return entries_;
}

YamlMap::YamlMap(const YamlNode& node, std::string_view what,
                 const std::vector<std::string>& required, const std::vector<std::string>& optional)
    : node_(node) {
  std::vector<std::string> known = required;
  known.insert(known.end(), optional.begin(), optional.end());
  for (const YamlEntry& entry :
       node.map(fmt::format("{} (a map with {})", what, fmt::join(known, ", ")))) {
    if (std::ranges::find(known, entry.key) == known.end()) {
      throw SpecError(entry.where, "unknown key {} in {}{}", quote(entry.key), what,
                      suggestion(entry.key, known));
    }
  }
  for (const std::string& key : required) {
    if (!find(key)) node.fail("expected the key \"{}\" in {}, found none", key, what);
  }
}

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const YamlEntry& entry : entries_) {
    if (entry.key == key) return entry.value.get();
  }
  return nullptr;
}

YamlNode YamlNode::with_word(std::string_view word, std::string_view text, bool is_name) const {
  YamlNode made = *this;
  for (YamlPtr& item : made.items_) {
    item = std::make_shared<YamlNode>(item->with_word(word, text, is_name));
  }
  for (YamlEntry& entry : made.entries_) {
    const bool names = entry.key == "op" || entry.key == "entry";
    entry.value = std::make_shared<YamlNode>(entry.value->with_word(word, text, names));
  }
  // The template arguments of an entry are no parts of its name.
  const std::size_t name_end = is_name ? std::min(text_.find('<'), text_.size()) : 0;
  const auto is_part = [&](std::size_t at) {
    return is_digit(text_[at]) || (is_letter(text_[at]) && (text_[at] != '_' || at >= name_end));
  };
  made.written_ = text_;
  made.text_.clear();
  for (std::size_t at = 0; at < text_.size();) {
    std::size_t end = at;
    while (end < text_.size() && is_part(end)) ++end;
    if (end == at) ++end;
    const bool is_word = std::string_view(text_).substr(at, end - at) == word;
    const std::string_view put = is_word ? text : std::string_view(text_).substr(at, end - at);
    for (std::size_t i = 0; i < put.size(); ++i) made.origins_.push_back(is_word ? at : at + i);
    made.text_ += put;
    at = end;
  }
  made.origins_.push_back(text_.size());
  if (made.text_ == text_) made.origins_.clear();
  return made;
}

YamlPtr with_word(const YamlPtr& node, std::string_view word, std::string_view text) {
  return std::make_shared<YamlNode>(node->with_word(word, text, false));
}

}  // namespace assay
