#include "report/entry_json.h"

#include <cmath>

namespace assay {
namespace {

/// Of all documents; a key that changes its meaning or goes away raises the version.
constexpr int kVersion = 1;

template <class Pairs>
Json pairs_json(const Pairs& pairs) {
  Json object = Json::object();
  for (const auto& [name, value] : pairs) object[name] = value_json(value);
  return object;
}

}  // namespace

Json toolchain_json(const Toolchain& toolchain) {
  return {{"nvrtc", text_or_null(toolchain.nvrtc)},
          {"arch", text_or_null(toolchain.arch)},
          {"options", text_or_null(toolchain.options)},
          {"driver", text_or_null(toolchain.driver)}};
}

Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json known_or_null(double value) { return value > 0 ? finite_or_null(value) : Json(nullptr); }

Json count_or_null(std::int64_t count) { return count > 0 ? Json(count) : Json(nullptr); }

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json verification_check_json(const VerificationCheck& check) {
  return {{"name", check.name},
          {"result", to_text(check.result)},
          {"message", text_or_null(check.message)}};
}

Json measurement_json(const Measurement& measurement) {
  return {{"name", measurement.name}, {"value", measurement.value}, {"unit", measurement.unit}};
}

Json choice_json(const KernelConfig& choice) {
  return {{"kernel", choice.kernel}, {"config", config_json(choice.config)}};
}

static Json verification_json(const std::optional<Verification>& verification) {
  if (!verification) return nullptr;
  return {{"passed", verification->failure() == nullptr},
          {"checks", json_list(verification->checks, verification_check_json)},
          {"toolchain", toolchain_json(verification->toolchain)},
          {"verified_at", text_or_null(verification->finished_at)}};
}

Json prepared_json(const std::optional<Prepared>& prepared) {
  if (!prepared) return nullptr;
  return {{"time_ns", finite_or_null(prepared->time_ns)}, {"bytes", prepared->bytes}};
}

Json config_json(const Config& config) { return pairs_json(config); }
Json problem_json(const Problem& problem) { return pairs_json(problem); }

Json device_json(const DeviceInfo& device) {
  return {{"name", device.name},
          {"uuid", text_or_null(device.uuid)},
          {"driver", text_or_null(device.driver)},
          {"compute_capability", device.cc},
          {"sm_count", device.sm_count},
          {"smem_optin_bytes", device.smem_optin_bytes},
          {"l2_bytes", device.l2_bytes},
          {"memory_bytes", device.memory_bytes}};
}

Json question_json(const Question& question) {
  return {{"op", question.op},
          {"problem", problem_json(question.problem)},
          {"device", question.device.name},
          {"protocol", question.protocol}};
}

std::string document(std::string_view name, const Json& body) {
  Json json{{"schema", "assay-" + std::string(name)}, {"version", kVersion}};
  json.update(body);
  return dump(json);
}

std::string dump(const Json& json) {
  // In ASCII, because JSON lets control characters stand that some terminals obey (U+0080 to
  // U+009F).
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + '\n';
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Json entry_json(const TunedRow& entry) {
  Json baseline(nullptr);
  if (!entry.baseline.empty()) {
    const bool open = entry.speedup.low <= 0 && entry.speedup.high <= 0;
    baseline = {{"name", entry.baseline},
                {"detail", text_or_null(entry.baseline_detail)},
                {"time_ns", finite_or_null(entry.baseline_ns)},
                {"speedup", finite_or_null(entry.speedup.value)},
                {"speedup_low", open ? Json(nullptr) : finite_or_null(entry.speedup.low)},
                {"speedup_high", open ? Json(nullptr) : finite_or_null(entry.speedup.high)},
                {"cycles_speedup", known_or_null(entry.cycles_speedup.value)},
                {"cycles_speedup_low", known_or_null(entry.cycles_speedup.low)},
                {"cycles_speedup_high", known_or_null(entry.cycles_speedup.high)},
                {"memory_bytes", count_or_null(entry.baseline_memory_bytes)}};
  }
  Json front(nullptr);
  for (const FrontRow& one : entry.front) {
    Json json = choice_json(one.choice);
    json["objectives"] = json_list(one.achieved, [](const Achieved& by) -> Json {
      return {{"objective", by.objective},
              {"value", finite_or_null(by.value.value)},
              {"low", finite_or_null(by.value.low)},
              {"high", finite_or_null(by.value.high)},
              {"ratio_to_winner", finite_or_null(by.ratio_to_winner.value)},
              {"ratio_low", finite_or_null(by.ratio_to_winner.low)},
              {"ratio_high", finite_or_null(by.ratio_to_winner.high)}};
    });
    front.push_back(std::move(json));
  }
  return {{"problem", problem_json(entry.problem)},
          {"kernel", entry.best.kernel},
          {"config", config_json(entry.best.config)},
          {"time_ns", finite_or_null(entry.time_ns.value)},
          {"time_low_ns", finite_or_null(entry.time_ns.low)},
          {"time_high_ns", finite_or_null(entry.time_ns.high)},
          {"reranked", entry.reranked},
          {"rounds", entry.rounds},
          {"baseline", baseline},
          {"ties", json_list(entry.ties, choice_json)},
          {"front", front},
          {"noise_ratio", known_or_null(entry.noise_ratio)},
          {"runner_up_ratio", known_or_null(entry.runner_up_ratio)},
          {"roofline_ratio", known_or_null(entry.roofline_ratio())},
          {"energy_j", known_or_null(entry.energy_j)},
          {"memory_bytes", count_or_null(entry.memory_bytes)},
          {"prepared", prepared_json(entry.prepared)},
          {"reference", text_or_null(entry.reference)},
          {"source_hash", text_or_null(entry.version.source_hash)},
          {"contract_hash", text_or_null(entry.version.contract_hash)},
          {"cubin_hash", text_or_null(entry.cubin_hash)},
          {"cublas", text_or_null(entry.cublas)},
          {"toolchain", toolchain_json(entry.toolchain)},
          {"precision_ratio", entry.precision_ratio},
          {"provenance", text_or_null(entry.provenance)},
          {"measured_at", text_or_null(entry.finished_at)},
          {"verified", verification_json(entry.verification)}};
}

}  // namespace assay
