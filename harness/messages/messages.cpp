#include "messages/messages.h"

#include "base/bounded_json.h"
#include "base/json.h"
#include "space/plan_json.h"

namespace assay {

inline void to_json(nlohmann::json& target, Status value) { target = to_text(value); }
inline void from_json(const nlohmann::json& source, Status& value) {
  value = read_word(source, parse_status);
}
inline void to_json(nlohmann::json& target, StopReason value) { target = to_text(value); }
inline void from_json(const nlohmann::json& source, StopReason& value) {
  value = read_word(source, parse_stop_reason);
}
inline void to_json(nlohmann::json& target, Objective value) { target = to_text(value); }
inline void from_json(const nlohmann::json& source, Objective& value) {
  value = read_word(source, parse_objective);
}

// The fields that cross. A new field of a struct is named here too, or it is lost on the way.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceInfo, name, uuid, driver, cc, sm_count, smem_optin_bytes,
                                   l2_bytes, memory_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuState, throttle_reasons, power_w, temperature_c)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuHealth, state, clock_mhz, max_clock_mhz, memory_clock_mhz,
                                   ecc, num_processes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Timing, samples_ns, median_ns, ci_low_ns, ci_high_ns, stop,
                                   clocks_mhz, clock_mhz, state, num_throttled, roofline_ns,
                                   time_limit_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Validation, relative_error, relative_limit, worst_element_ratio,
                                   elements, reference)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Prepared, time_ns, bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Outcome, status, kind, message, validation, timing, device_ms,
                                   prepared)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeasureSpec, protocol, precision_ratio, max_seconds_per_config)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrialRequest, plan, cubin_path, measure, seed, best_ns,
                                   screened_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(VerifySpec, name, count, max_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BaselineTiming, name, detail, timing, failure)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RerankEntry, name, samples_ns, outcome, clocks_mhz, eliminated,
                                   energy_j)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RerankResult, candidates, baselines, duplicate, duplicate_of)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RerankSpec, top, rounds, precision_ratio, objective)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Ceilings, copy_bytes_per_s, read_bytes_per_s, l2_bytes_per_s,
                                   bf16_flops_per_s, fp8_flops_per_s, tf32_flops_per_s,
                                   f32_flops_per_s, f64_flops_per_s, i8_flops_per_s, launch_ns,
                                   next_launch_ns, clock_mhz)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Vitals, clock_mhz, num_processes, mps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SelfTest, empty_event_ns, empty_kernel_ns, cold_read_ns,
                                   hot_read_ns, dirty_read_ns, repeat_spread_ratio, clock_mhz,
                                   noise_floor_ratio, health)

}  // namespace assay

namespace assay::message {

using nlohmann::json;

template <typename T>
json encode(const T& value) {
  return value;
}

template <typename T>
T decode(const json& source) {
  try {
    return source.get<T>();
  } catch (const json::exception& error) {
    throw Error("a message is damaged: {}", error.what());
  }
}

#define ASSAY_CROSSES(T)          \
  template json encode(const T&); \
  template T decode(const json&)
ASSAY_CROSSES(DeviceInfo);
ASSAY_CROSSES(Ceilings);
ASSAY_CROSSES(Vitals);
ASSAY_CROSSES(SelfTest);
ASSAY_CROSSES(TrialRequest);
ASSAY_CROSSES(Outcome);
ASSAY_CROSSES(BaselineTiming);
ASSAY_CROSSES(RerankSpec);
ASSAY_CROSSES(RerankResult);
ASSAY_CROSSES(VerifySpec);
#undef ASSAY_CROSSES

std::string pack(const json& source) {
  std::string bytes;
  json::to_cbor(source, bytes);
  return bytes;
}

json unpack(std::string_view bytes) {
  check_cbor(bytes, "a message");
  json value = json::from_cbor(bytes, true, false);
  if (value.is_discarded()) {
    throw Error("a message of {} bytes is not CBOR", bytes.size());
  }
  return value;
}

}  // namespace assay::message
