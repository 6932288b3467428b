#include "report/entry_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <variant>

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no infinity, which stands for an interval that too few samples leave open.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// A figure that is 0 where it is not known.
Json known(double value) { return value > 0 ? number(value) : Json(nullptr); }

Json text(const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); }

Json toolchain_json(const Toolchain& toolchain) {
  return {{"nvrtc", text(toolchain.nvrtc)},
          {"arch", text(toolchain.arch)},
          {"options", text(toolchain.options)},
          {"driver", text(toolchain.driver)}};
}

}  // namespace

Json verification_json(const std::optional<Verification>& verification) {
  if (!verification) return nullptr;
  Json checks = Json::array();
  for (const VerificationCheck& check : verification->checks) {
    checks.push_back({{"name", check.name},
                      {"result", to_text(check.result)},
                      {"message", text(check.message)}});
  }
  return {{"passed", verification->failure() == nullptr},
          {"checks", std::move(checks)},
          {"toolchain", toolchain_json(verification->toolchain)},
          {"verified_at", text(verification->finished_at)}};
}

Json prepared_json(const std::optional<Prepared>& prepared) {
  if (!prepared) return nullptr;
  return {{"time_ns", number(prepared->time_ns)}, {"bytes", prepared->bytes}};
}

Json config_json(const Config& config) {
  Json object = Json::object();
  for (const auto& [name, value] : config) {
    std::visit([&object, &key = name](const auto& v) { object[key] = v; }, value);
  }
  return object;
}

Json problem_json(const Problem& problem) {
  Json object = Json::object();
  for (const auto& [name, value] : problem) {
    std::visit([&, &key = name](auto number) { object[key] = number; }, value);
  }
  return object;
}

Json device_json(const DeviceInfo& device) {
  return {{"name", device.name},           {"uuid", text(device.uuid)},
          {"driver", text(device.driver)}, {"compute_capability", device.cc},
          {"sm_count", device.sm_count},   {"smem_optin_bytes", device.smem_optin_bytes},
          {"l2_bytes", device.l2_bytes},   {"memory_bytes", device.memory_bytes}};
}

std::string dump(const Json& json) {
  // In ASCII, because JSON lets control characters stand that some terminals obey (U+0080 to
  // U+009F).
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + '\n';
}

Json entry_json(const TunedRow& entry) {
  Json ties = Json::array();
  for (const KernelConfig& tie : entry.ties) {
    ties.push_back({{"kernel", tie.kernel}, {"config", config_json(tie.config)}});
  }
  Json baseline(nullptr);
  if (!entry.baseline.empty()) {
    const bool open = entry.speedup.low <= 0 && entry.speedup.high <= 0;
    baseline = {{"name", entry.baseline},
                {"detail", text(entry.baseline_detail)},
                {"time_ns", number(entry.baseline_ns)},
                {"speedup", number(entry.speedup.value)},
                {"speedup_low", open ? Json(nullptr) : number(entry.speedup.low)},
                {"speedup_high", open ? Json(nullptr) : number(entry.speedup.high)},
                {"cycles_speedup", known(entry.cycles_speedup.value)},
                {"cycles_speedup_low", known(entry.cycles_speedup.low)},
                {"cycles_speedup_high", known(entry.cycles_speedup.high)}};
  }
  return {{"problem", problem_json(entry.problem)},
          {"kernel", entry.best.kernel},
          {"config", config_json(entry.best.config)},
          {"time_ns", number(entry.time_ns.value)},
          {"time_low_ns", number(entry.time_ns.low)},
          {"time_high_ns", number(entry.time_ns.high)},
          {"reranked", entry.reranked},
          {"rounds", entry.rounds},
          {"baseline", baseline},
          {"ties", ties},
          {"noise_ratio", known(entry.noise_ratio)},
          {"runner_up_ratio", known(entry.runner_up_ratio)},
          {"roofline_ratio", known(entry.roofline_ratio())},
          {"energy_j", known(entry.energy_j)},
          {"prepared", prepared_json(entry.prepared)},
          {"reference", text(entry.reference)},
          {"source_hash", text(entry.version.source_hash)},
          {"contract_hash", text(entry.version.contract_hash)},
          {"cubin_hash", text(entry.cubin_hash)},
          {"cublas", text(entry.cublas)},
          {"toolchain", toolchain_json(entry.toolchain)},
          {"precision_ratio", entry.precision_ratio},
          {"provenance", text(entry.provenance)},
          {"measured_at", text(entry.finished_at)},
          {"verified", verification_json(entry.verification)}};
}

}  // namespace assay
