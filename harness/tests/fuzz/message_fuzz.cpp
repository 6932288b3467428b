// Messages between the processes of a sweep. The first byte says which message follows: as CBOR or,
// so that single values are changed, as a JSON merge patch (RFC 7396) of an empty one.

#include <array>

#include "base/bounded_json.h"
#include "base/error.h"
#include "fuzz_target.h"
#include "messages/messages.h"

namespace assay {
namespace {

using nlohmann::json;

/// What can be read can be sent again.
template <typename T>
void decode(const json& source) {
  const std::string packed = message::pack(message::encode(message::decode<T>(source)));
  message::decode<T>(message::unpack(packed));
}

struct Form {
  json empty;
  void (*decode)(const json&);
};

template <typename T>
Form form() {
  return {message::encode(T{}), decode<T>};
}

const Form& form_of(char lead) {
  static const std::array<Form, 9> forms = {
      form<TrialRequest>(), form<Outcome>(),    form<RerankResult>(),
      form<DeviceInfo>(),   form<RerankSpec>(), form<Ceilings>(),
      form<Vitals>(),       form<SelfTest>(),   form<BaselineTiming>()};
  return forms[static_cast<unsigned char>(lead) % forms.size()];
}

}  // namespace

void fuzz_message(std::string_view text) {
  if (text.empty()) return;
  const Form& form = form_of(text[0]);
  text.remove_prefix(1);
  try {
    if (!text.starts_with('{')) return form.decode(message::unpack(text));
    check_json(text, "a message");
    const json patch = json::parse(text, nullptr, false);
    if (patch.is_discarded()) return;
    json message = form.empty;
    message.merge_patch(patch);
    form.decode(message);
  } catch (const UsageError&) {
  } catch (const Error&) {
  }
}

}  // namespace assay
