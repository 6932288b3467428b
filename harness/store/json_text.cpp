#include "store/json_text.h"

#include <rapidjson/encodedstream.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace assay::json_text {
namespace {

template <class T>
std::errc convert(std::string_view text, T& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return end == text.data() + text.size() ? error : std::errc::invalid_argument;
}

}  // namespace

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
  document_.reset();
  allocator_.emplace(memory_.data(), memory_.size());
  document_.emplace(&*allocator_);
  rapidjson::MemoryStream bytes(text.data(), text.size());
  rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(bytes);
  rapidjson::Reader reader;
  auto read = [&](rapidjson::Document&) -> bool {
    return reader
        .Parse<rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseValidateEncodingFlag>(
            stream, *document_);
  };
  document_->Populate(read);
  // A NUL ends what the library reads.
  if (reader.HasParseError() || stream.Tell() != text.size()) return nullptr;
  return &*document_;
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

const Json& member(const Json& object, std::string_view key) {
  const Json* found = find(object, key);
  if (!found) throw Damage(fmt::format("'{}' is missing", key));
  return *found;
}

}  // namespace assay::json_text
