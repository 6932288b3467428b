#include "store/json_text.h"

#include <rapidjson/encodedstream.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace assay::json_text {

const Json* Parser::parse(std::string_view text) {
  document_.reset();
  allocator_.emplace(memory_.data(), memory_.size());
  document_.emplace(&*allocator_);
  rapidjson::MemoryStream bytes(text.data(), text.size());
  rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(bytes);
  document_
      ->ParseStream<rapidjson::kParseFullPrecisionFlag | rapidjson::kParseValidateEncodingFlag>(
          stream);
  // A NUL ends what the library reads.
  if (document_->HasParseError() || stream.Tell() != text.size()) return nullptr;
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
