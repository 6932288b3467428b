#include "store/json_text.h"

#include "base/find_named.h"

namespace assay::json_text {

std::optional<Json> parse(std::string_view text) {
  if (text.find('\0') != text.npos) return std::nullopt;  // for the library it is the end
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  return json.is_discarded() ? std::nullopt : std::optional(std::move(json));
}

char Scanner::peek() {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  return at_ < text_.size() ? text_[at_] : '\0';
}

char Scanner::take(std::string_view expected) {
  const char next = peek();
  if (at_ == text_.size() || expected.find(next) == expected.npos) {
    throw Damage("expected one of {}", expected);
  }
  ++at_;
  return next;
}

std::string_view Scanner::take_name() {
  take("\"");
  const std::size_t begin = at_;
  skip_string();
  return text_.substr(begin, at_ - begin - 1);
}

std::string_view Scanner::take_value() {
  peek();
  const std::size_t begin = at_;
  int depth = 0;
  do {
    if (at_ == text_.size()) throw Damage("its end is missing");
    const char c = text_[at_++];
    if (c == '"') {
      skip_string();
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (depth == 0) {  // a number or a word
      at_ = std::min(text_.find_first_of(",:]} \t\r\n", at_), text_.size());
    }
  } while (depth > 0);
  if (depth < 0) throw Damage("a value is missing");
  return text_.substr(begin, at_ - begin);
}

void Scanner::skip_string() {
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '"') return skip();
    if (text_[at_] == '\\') ++at_;
  }
  throw Damage("the end of a string is missing");
}

const Json* find(const Json& object, std::string_view key) {
  return object.is_object() ? find_value(members(object), key) : nullptr;
}

std::string text_or_empty(const Json& object, std::string_view key) {
  const Json* found = find(object, key);
  return found && found->is_string() ? view(*found) : "";
}

const Json& member(const Json& object, std::string_view key) {
  const Json* found = find(object, key);
  if (!found) throw Damage("'{}' is missing", key);
  return *found;
}

}  // namespace assay::json_text
