#pragma once

#include <string>
#include <string_view>

#include "base/device_info.h"
#include "base/json.h"
#include "messages/requests.h"
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
                                   bf16_flops_per_s, tf32_flops_per_s, f32_flops_per_s,
                                   f64_flops_per_s, i8_flops_per_s, launch_ns, next_launch_ns,
                                   clock_mhz)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Vitals, clock_mhz, num_processes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SelfTest, empty_event_ns, empty_kernel_ns, cold_read_ns,
                                   hot_read_ns, dirty_read_ns, repeat_spread_ratio, clock_mhz,
                                   noise_floor_ratio, health)

}  // namespace assay

/// The messages between the parent and the worker. A request is {"verb": ..., arguments}. An answer
/// is {"result": ..., "context_lost": bool} or {"error": sentence, "usage": bool, "context_lost":
/// bool}.
namespace assay::message {

template <typename T>
nlohmann::json encode(const T& value) {
  return value;
}

/// The inverse of encode. Throws Error naming what is missing or of the wrong type.
template <typename T>
T decode(const nlohmann::json& source) {
  try {
    return source.get<T>();
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("a message is damaged: {}", error.what()));
  }
}

/// A message as bytes, and back. It is CBOR, because JSON text has no NaN and no infinity, and a
/// relative error or an interval can be either. unpack throws Error on anything else. A trial with
/// 1000 samples costs the parent 0.1 ms in all (9 KB, -O2).
std::string pack(const nlohmann::json& source);
nlohmann::json unpack(std::string_view bytes);

}  // namespace assay::message
