#include "messages/messages.h"

#include "base/bounded_json.h"

namespace assay::message {

using nlohmann::json;

std::string pack(const json& source) {
  std::string bytes;
  json::to_cbor(source, bytes);
  return bytes;
}

json unpack(std::string_view bytes) {
  check_cbor(bytes, "a message");
  json value = json::from_cbor(bytes, true, false);
  if (value.is_discarded()) {
    throw Error(fmt::format("a message of {} bytes is not CBOR", bytes.size()));
  }
  return value;
}

}  // namespace assay::message
