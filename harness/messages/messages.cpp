#include "messages/messages.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace assay::message {
namespace {

using nlohmann::json;

json encode_validation(const Validation& validation) {
  return {{"relative_error", validation.relative_error},
          {"relative_limit", validation.relative_limit},
          {"worst_element_ratio", validation.worst_element_ratio},
          {"elements", validation.elements}};
}

json encode_state(const GpuState& state) {
  return {{"throttle_reasons", state.throttle_reasons},
          {"power_w", state.power_w},
          {"temperature_c", state.temperature_c}};
}

template <typename T>
json encode_optional(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json encode_health(const GpuHealth& health) {
  return {{"state", encode_state(health.state)},
          {"clock_mhz", encode_optional(health.clock_mhz)},
          {"max_clock_mhz", encode_optional(health.max_clock_mhz)},
          {"memory_clock_mhz", encode_optional(health.memory_clock_mhz)},
          {"ecc", encode_optional(health.ecc)},
          {"num_processes", encode_optional(health.num_processes)}};
}

json encode_entry(const RerankEntry& entry) {
  return {{"name", entry.name},
          {"samples_ns", entry.samples_ns},
          {"clocks_mhz", entry.clocks_mhz},
          {"eliminated", entry.eliminated},
          {"energy_j", entry.energy_j},
          {"outcome", encode(entry.outcome)}};
}

json encode_entries(const std::vector<RerankEntry>& entries) {
  json array = json::array();
  for (const RerankEntry& entry : entries) array.push_back(encode_entry(entry));
  return array;
}

/// Runs a decoder, and turns what the JSON library throws into a sentence.
template <typename Decoder>
auto decoding(const char* what, const Decoder& decoder) {
  try {
    return decoder();
  } catch (const json::exception& error) {
    throw Error(fmt::format("the message of {} is damaged: {}", what, error.what()));
  }
}

template <typename Enum>
Enum decode_word(std::optional<Enum> (*parse)(std::string_view), const json& word) {
  const auto& text = word.get_ref<const std::string&>();
  if (const std::optional<Enum> value = parse(text)) return *value;
  throw Error(fmt::format("the message has the unknown word \"{}\"", text));
}

Validation decode_validation(const json& source) {
  return {source.at("relative_error"), source.at("relative_limit"),
          source.at("worst_element_ratio"), source.at("elements")};
}

GpuState decode_state(const json& source) {
  return {source.at("throttle_reasons"), source.at("power_w"), source.at("temperature_c")};
}

template <typename T>
std::optional<T> decode_optional(const json& source) {
  if (source.is_null()) return std::nullopt;
  return source.get<T>();
}

GpuHealth decode_health(const json& source) {
  return {decode_state(source.at("state")),
          decode_optional<double>(source.at("clock_mhz")),
          decode_optional<double>(source.at("max_clock_mhz")),
          decode_optional<double>(source.at("memory_clock_mhz")),
          decode_optional<bool>(source.at("ecc")),
          decode_optional<int>(source.at("num_processes"))};
}

RerankEntry decode_entry(const json& item) {
  return {item.at("name"),
          item.at("samples_ns").get<std::vector<double>>(),
          decode<Outcome>(item.at("outcome")),
          item.at("clocks_mhz").get<std::vector<double>>(),
          item.at("eliminated"),
          item.at("energy_j")};
}

std::vector<RerankEntry> decode_entries(const json& array) {
  std::vector<RerankEntry> entries;
  for (const json& item : array) entries.push_back(decode_entry(item));
  return entries;
}

}  // namespace

json encode(const DeviceInfo& info) {
  return {{"name", info.name},         {"uuid", info.uuid},
          {"driver", info.driver},     {"cc", info.cc},
          {"sm_count", info.sm_count}, {"smem_optin_bytes", info.smem_optin_bytes},
          {"l2_bytes", info.l2_bytes}, {"memory_bytes", info.memory_bytes}};
}

json encode(const Timing& timing) {
  json object = {{"samples_ns", timing.samples_ns},   {"clocks_mhz", timing.clocks_mhz},
                 {"median_ns", timing.median_ns},     {"ci_low_ns", timing.ci_low_ns},
                 {"ci_high_ns", timing.ci_high_ns},   {"clock_mhz", timing.clock_mhz},
                 {"stop", to_text(timing.stop)},      {"num_throttled", timing.num_throttled},
                 {"roofline_ns", timing.roofline_ns}, {"time_limit_s", timing.time_limit_s}};
  if (timing.state) object["state"] = encode_state(*timing.state);
  return object;
}

json encode(const Outcome& outcome) {
  json object = {{"status", to_text(outcome.status)},
                 {"kind", outcome.kind},
                 {"message", outcome.message},
                 {"device_ms", outcome.device_ms}};
  if (outcome.validation) object["validation"] = encode_validation(*outcome.validation);
  if (outcome.timing) object["timing"] = encode(*outcome.timing);
  return object;
}

json encode(const TrialRequest& request) {
  return {{"plan", request.plan},
          {"cubin_path", request.cubin_path.string()},
          {"protocol", request.measure.protocol},
          {"precision_ratio", request.measure.precision_ratio},
          {"max_seconds_per_config", request.measure.max_seconds_per_config},
          {"seed", request.seed},
          {"best_ns", encode_optional(request.best_ns)}};
}

json encode(const BaselineTiming& baseline) {
  return {
      {"name", baseline.name}, {"detail", baseline.detail}, {"timing", encode(baseline.timing)}};
}

json encode(const RerankResult& result) {
  json object = {{"candidates", encode_entries(result.candidates)},
                 {"baselines", encode_entries(result.baselines)},
                 {"duplicate_of", result.duplicate_of}};
  if (result.duplicate) object["duplicate"] = encode_entry(*result.duplicate);
  return object;
}

json encode(const RerankSpec& spec) {
  return {{"top", spec.top}, {"rounds", spec.rounds}, {"objective", to_text(spec.objective)}};
}

json encode(const Ceilings& ceilings) {
  return {{"copy_bytes_per_s", ceilings.copy_bytes_per_s},
          {"read_bytes_per_s", ceilings.read_bytes_per_s},
          {"bf16_flops_per_s", ceilings.bf16_flops_per_s},
          {"f32_flops_per_s", ceilings.f32_flops_per_s},
          {"clock_mhz", ceilings.clock_mhz}};
}

json encode(const Vitals& vitals) {
  return {{"clock_mhz", vitals.clock_mhz},
          {"num_processes", encode_optional(vitals.num_processes)}};
}

json encode(const SelfTest& test) {
  json object = {
      {"empty_event_ns", test.empty_event_ns}, {"empty_kernel_ns", test.empty_kernel_ns},
      {"cold_read_ns", test.cold_read_ns},     {"hot_read_ns", test.hot_read_ns},
      {"dirty_read_ns", test.dirty_read_ns},   {"repeat_spread_ratio", test.repeat_spread_ratio},
      {"clock_mhz", test.clock_mhz},           {"noise_floor_ratio", test.noise_floor_ratio}};
  if (test.health) object["health"] = encode_health(*test.health);
  return object;
}

template <>
DeviceInfo decode(const json& source) {
  return decoding("a device", [&] {
    DeviceInfo info;
    source.at("name").get_to(info.name);
    source.at("uuid").get_to(info.uuid);
    source.at("driver").get_to(info.driver);
    source.at("cc").get_to(info.cc);
    source.at("sm_count").get_to(info.sm_count);
    source.at("smem_optin_bytes").get_to(info.smem_optin_bytes);
    source.at("l2_bytes").get_to(info.l2_bytes);
    source.at("memory_bytes").get_to(info.memory_bytes);
    return info;
  });
}

template <>
Timing decode(const json& source) {
  return decoding("a timing", [&] {
    Timing timing;
    source.at("samples_ns").get_to(timing.samples_ns);
    source.at("median_ns").get_to(timing.median_ns);
    source.at("ci_low_ns").get_to(timing.ci_low_ns);
    source.at("ci_high_ns").get_to(timing.ci_high_ns);
    timing.stop = decode_word(parse_stop_reason, source.at("stop"));
    source.at("clocks_mhz").get_to(timing.clocks_mhz);
    source.at("clock_mhz").get_to(timing.clock_mhz);
    source.at("num_throttled").get_to(timing.num_throttled);
    source.at("roofline_ns").get_to(timing.roofline_ns);
    source.at("time_limit_s").get_to(timing.time_limit_s);
    if (source.contains("state")) timing.state = decode_state(source["state"]);
    return timing;
  });
}

template <>
Outcome decode(const json& source) {
  return decoding("an outcome", [&] {
    Outcome outcome;
    outcome.status = decode_word(parse_status, source.at("status"));
    source.at("kind").get_to(outcome.kind);
    source.at("message").get_to(outcome.message);
    source.at("device_ms").get_to(outcome.device_ms);
    if (source.contains("validation")) outcome.validation = decode_validation(source["validation"]);
    if (source.contains("timing")) outcome.timing = decode<Timing>(source["timing"]);
    return outcome;
  });
}

template <>
TrialRequest decode(const json& source) {
  return decoding("a trial", [&] {
    TrialRequest request;
    source.at("plan").get_to(request.plan);
    request.cubin_path = source.at("cubin_path").get<std::string>();
    source.at("protocol").get_to(request.measure.protocol);
    source.at("precision_ratio").get_to(request.measure.precision_ratio);
    source.at("max_seconds_per_config").get_to(request.measure.max_seconds_per_config);
    source.at("seed").get_to(request.seed);
    request.best_ns = decode_optional<double>(source.at("best_ns"));
    return request;
  });
}

template <>
BaselineTiming decode(const json& source) {
  return decoding("a baseline", [&] {
    return BaselineTiming{source.at("name"), source.at("detail"),
                          decode<Timing>(source.at("timing"))};
  });
}

template <>
RerankResult decode(const json& source) {
  return decoding("a re-rank", [&] {
    RerankResult result{decode_entries(source.at("candidates")),
                        decode_entries(source.at("baselines"))};
    if (source.contains("duplicate")) result.duplicate = decode_entry(source["duplicate"]);
    source.at("duplicate_of").get_to(result.duplicate_of);
    return result;
  });
}

template <>
RerankSpec decode(const json& source) {
  return decoding("a re-rank's rules", [&] {
    return RerankSpec{source.at("top"), source.at("rounds"),
                      decode_word(parse_objective, source.at("objective"))};
  });
}

template <>
Ceilings decode(const json& source) {
  return decoding("ceilings", [&] {
    return Ceilings{source.at("copy_bytes_per_s"), source.at("read_bytes_per_s"),
                    source.at("bf16_flops_per_s"), source.at("f32_flops_per_s"),
                    source.at("clock_mhz")};
  });
}

template <>
Vitals decode(const json& source) {
  return decoding("vitals", [&] {
    return Vitals{source.at("clock_mhz"), decode_optional<int>(source.at("num_processes"))};
  });
}

template <>
SelfTest decode(const json& source) {
  return decoding("a self test", [&] {
    SelfTest test{source.at("empty_event_ns"), source.at("empty_kernel_ns"),
                  source.at("cold_read_ns"),   source.at("hot_read_ns"),
                  source.at("dirty_read_ns"),  source.at("repeat_spread_ratio"),
                  source.at("clock_mhz"),      source.at("noise_floor_ratio")};
    if (source.contains("health")) test.health = decode_health(source["health"]);
    return test;
  });
}

std::string pack(const json& source) {
  std::string bytes;
  json::to_cbor(source, bytes);
  return bytes;
}

json unpack(std::string_view bytes) {
  json value = json::from_cbor(bytes, true, false);
  if (value.is_discarded()) {
    throw Error(fmt::format("a message of {} bytes is not CBOR", bytes.size()));
  }
  return value;
}

}  // namespace assay::message
