#include "base/verification.h"

#include <array>
#include <utility>

namespace assay {
namespace {

constexpr std::array<std::pair<CheckResult, std::string_view>, 3> kResults{
    {{CheckResult::passed, "passed"},
     {CheckResult::failed, "failed"},
     {CheckResult::skipped, "skipped"}}};

}  // namespace

std::string_view to_text(CheckResult result) {
  return kResults.at(static_cast<std::size_t>(result)).second;
}

std::optional<CheckResult> parse_check_result(std::string_view text) {
  for (const auto& [result, word] : kResults) {
    if (word == text) return result;
  }
  return std::nullopt;
}

}  // namespace assay
