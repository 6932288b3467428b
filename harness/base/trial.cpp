#include "base/trial.h"

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
struct Reason {
  std::uint64_t bit;
  std::string_view text;
};
constexpr std::array kReasons{
    Reason{0x04, "power cap"},        Reason{0x08, "hardware slowdown"},    Reason{0x20, "thermal"},
    Reason{0x40, "hardware thermal"}, Reason{0x80, "hardware power brake"},
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

constexpr std::array kResults{
    Named{CheckResult::passed, "passed"},
    Named{CheckResult::failed, "failed"},
    Named{CheckResult::skipped, "skipped"},
};

}  // namespace

std::string_view to_text(Status status) { return text_of(kStatuses, status); }
std::optional<Status> parse_status(std::string_view text) { return value_of(kStatuses, text); }

std::string known_statuses() {
  std::string known;
  for (const auto& status : kStatuses) {
    if (!known.empty()) known += ", ";
    known += status.text;
  }
  return known;
}

bool is_failure(Status status) { return status != Status::correct && status != Status::compiled; }

bool is_machine_fault(Status status, std::string_view kind) {
  switch (status) {
    case Status::compile:
    case Status::runtime:
      return kind == "killed" || kind == "out_of_memory";
    default:
      return false;
  }
}

std::string_view to_text(StopReason reason) { return text_of(kStopReasons, reason); }
std::optional<StopReason> parse_stop_reason(std::string_view text) {
  return value_of(kStopReasons, text);
}

std::string throttle_text(std::uint64_t throttle_reasons) {
  std::string text;
  for (const Reason& reason : kReasons) {
    if ((throttle_reasons & reason.bit) == 0) continue;
    if (!text.empty()) text += ", ";
    text += reason.text;
  }
  return text;
}

std::string_view to_text(CheckResult result) { return text_of(kResults, result); }
std::optional<CheckResult> parse_check_result(std::string_view text) {
  return value_of(kResults, text);
}

}  // namespace assay
