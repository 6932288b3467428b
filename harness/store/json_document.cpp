#include "store/json_document.h"

#include <utility>
#include <vector>

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

/// Builds a document from its parser's events. The library's own way looks each key of an object up
/// among all before it, which takes minutes for a cachefile of 10^5 rows. Where a key comes twice,
/// both stay, and the first is found.
class DocumentBuilder : public Json::json_sax_t {
 public:
  Json take() { return std::move(document_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  Json& place(Json value) {
    if (open_.empty()) return document_ = std::move(value);
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return parent.back();
    }
    auto& object = parent.get_ref<Json::object_t&>();
    object.Json::object_t::Container::emplace_back(std::move(key_), std::move(value));
    return object.back().second;
  }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    // Growing copies the keys. Few objects of a file have more members.
    constexpr std::size_t kMembers = 16;
    if (value.is_object()) value.get_ref<Json::object_t&>().reserve(kMembers);
    open_.push_back(&place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json document_;
  std::vector<Json*> open_;
  std::string key_;
};

}  // namespace

std::optional<Json> parse_document(std::string_view text) {
  DocumentBuilder builder;
  if (!Json::sax_parse(text, &builder)) return std::nullopt;
  return builder.take();
}

}  // namespace assay
