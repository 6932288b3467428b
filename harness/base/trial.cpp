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
    Named{Status::correct, "correct"}, Named{Status::constraints, "constraints"},
    Named{Status::compile, "compile"}, Named{Status::runtime, "runtime"},
    Named{Status::timeout, "timeout"}, Named{Status::correctness, "correctness"},
};

constexpr std::array kStopReasons{
    Named{StopReason::precision, "precision"},
    Named{StopReason::time_limit, "time_limit"},
    Named{StopReason::sample_limit, "sample_limit"},
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

}  // namespace

std::string_view to_text(Status status) { return text_of(kStatuses, status); }
std::optional<Status> parse_status(std::string_view text) { return value_of(kStatuses, text); }

std::string_view to_text(StopReason reason) { return text_of(kStopReasons, reason); }
std::optional<StopReason> parse_stop_reason(std::string_view text) {
  return value_of(kStopReasons, text);
}

}  // namespace assay
