#include "store/json_text.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <new>

namespace assay::json_text {
namespace {

template <class T>
std::errc convert(std::string_view text, T& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return end == text.data() + text.size() ? error : std::errc::invalid_argument;
}

/// `memory`, which is null only where it may be.
void* checked(void* memory, std::size_t num_bytes) {
  if (!memory && num_bytes > 0) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* Allocator::Malloc(std::size_t num_bytes) {
  return checked(CrtAllocator().Malloc(num_bytes), num_bytes);
}

void* Allocator::Realloc(void* memory, std::size_t old_bytes, std::size_t num_bytes) {
  return checked(CrtAllocator().Realloc(memory, old_bytes, num_bytes), num_bytes);
}

bool Document::RawNumber(const char* text, rapidjson::SizeType length, bool /*copy*/) {
  std::uint64_t natural = 0;
  std::int64_t whole = 0;
  double real = 0;
  if (convert({text, length}, natural) == std::errc()) return Uint64(natural);
  if (convert({text, length}, whole) == std::errc()) return Int64(whole);
  // Out of range is either too large or too near 0; strtod tells which.
  if (convert({text, length}, real) != std::errc()) real = std::strtod(text, nullptr);
  return std::isfinite(real) && Double(real);
}

const Json* Parser::parse(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  document_.reset();
  allocator_.emplace(memory_.data(), memory_.size());
  document_.emplace(&*allocator_);
  text_.assign(text);
  // The library takes all bytes of a character before it looks whether one is missing: up to three
  // behind the text and its NUL.
  text_.append(3, '\0');
  rapidjson::InsituStringStream stream(text_.data());
  rapidjson::Reader reader;
  constexpr unsigned kHow = rapidjson::kParseInsituFlag | rapidjson::kParseNumbersAsStringsFlag |
                            rapidjson::kParseValidateEncodingFlag;
  auto read = [&](AnyDocument&) -> bool { return reader.Parse<kHow>(stream, *document_); };
  document_->Populate(read);
  // A NUL ends what the library reads.
  if (reader.HasParseError() || stream.Tell() != text.size()) return nullptr;
  return &*document_;
}

char Scanner::peek() {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  return at_ < text_.size() ? text_[at_] : '\0';
}

char Scanner::take(std::string_view expected) {
  const char next = peek();
  if (at_ == text_.size() || expected.find(next) == expected.npos) {
    throw Damage(fmt::format("expected one of {}", expected));
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

std::string written(const Json& value) {
  rapidjson::StringBuffer text;
  rapidjson::Writer writer(text);
  value.Accept(writer);
  return {text.GetString(), text.GetSize()};
}

const Json* find(const Json& object, std::string_view key) {
  if (!object.IsObject()) return nullptr;
  for (const auto& [name, value] : object.GetObject()) {
    if (view(name) == key) return &value;
  }
  return nullptr;
}

std::string text_or_empty(const Json& object, std::string_view key) {
  const Json* found = find(object, key);
  return std::string(found && found->IsString() ? view(*found) : "");
}

const Json& member(const Json& object, std::string_view key) {
  const Json* found = find(object, key);
  if (!found) throw Damage(fmt::format("'{}' is missing", key));
  return *found;
}

}  // namespace assay::json_text
