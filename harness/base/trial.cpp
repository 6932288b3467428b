#include "base/trial.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace assay {
namespace {

template <typename T>
struct Named {
  T value;
  std::string_view text;
};

// T4's words; other tuners read them in our exports, so they never change.
constexpr std::array kStatuses{
    Named{Status::correct, "correct"},         Named{Status::compiled, "compiled"},
    Named{Status::constraints, "constraints"}, Named{Status::compile, "compile"},
    Named{Status::runtime, "runtime"},         Named{Status::timeout, "timeout"},
    Named{Status::correctness, "correctness"},
};

constexpr std::array kStopReasons{
    Named{StopReason::precision, "precision"},
    Named{StopReason::noise, "noise"},
    Named{StopReason::raced, "raced"},
    Named{StopReason::time_limit, "time_limit"},
    Named{StopReason::sample_limit, "sample_limit"},
    Named{StopReason::unsettled, "unsettled"},
};

// NVML's clock event reasons. Idle (0x1), the clock that was set (0x2), sync boost (0x10) and the
// display's clock (0x100) do not come from the load.
constexpr std::array kReasons{
    Named{0x04u, "power cap"},        Named{0x08u, "hardware slowdown"},    Named{0x20u, "thermal"},
    Named{0x40u, "hardware thermal"}, Named{0x80u, "hardware power brake"},
};

template <typename T, std::size_t N>
std::string_view text_of(const std::array<Named<T>, N>& names, T value) {
  for (const auto& name : names) {
    if (name.value == value) return name.text;
  }
  return "unknown";
}

template <typename T, std::size_t N>
std::optional<T> value_of(const std::array<Named<T>, N>& names, std::string_view text) {
  for (const auto& name : names) {
    if (name.text == text) return name.value;
  }
  return std::nullopt;
}

/// The texts of those whose value is meant.
template <typename T, std::size_t N, typename IsMeant>
std::string list_of(const std::array<Named<T>, N>& names, IsMeant is_meant) {
  std::vector<std::string_view> texts;
  for (const auto& name : names) {
    if (is_meant(name.value)) texts.push_back(name.text);
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

constexpr std::array kResults{
    Named{CheckResult::passed, "passed"},
    Named{CheckResult::failed, "failed"},
    Named{CheckResult::skipped, "skipped"},
};

}  // namespace

std::string_view to_text(Status status) { return text_of(kStatuses, status); }
std::optional<Status> parse_status(std::string_view text) { return value_of(kStatuses, text); }

std::string known_statuses() {
  return list_of(kStatuses, [](Status) { return true; });
}

bool is_failure(Status status) { return status != Status::correct && status != Status::compiled; }

bool is_machine_fault(Status status, std::string_view kind) {
  return (status == Status::compile || status == Status::runtime) &&
         (kind == "killed" || kind == "out_of_memory");
}

std::string_view to_text(StopReason reason) { return text_of(kStopReasons, reason); }
std::optional<StopReason> parse_stop_reason(std::string_view text) {
  return value_of(kStopReasons, text);
}

std::string throttle_text(std::uint64_t throttle_reasons) {
  return list_of(kReasons, [&](unsigned bit) { return (throttle_reasons & bit) != 0; });
}

std::string_view to_text(CheckResult result) { return text_of(kResults, result); }
std::optional<CheckResult> parse_check_result(std::string_view text) {
  return value_of(kResults, text);
}

}  // namespace assay
