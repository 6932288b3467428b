#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

/// What a check of a verification found. A check is skipped where it cannot be made; its message
/// says why.
enum class CheckResult { passed, failed, skipped };
std::string_view to_text(CheckResult result);
std::optional<CheckResult> parse_check_result(std::string_view text);

struct VerificationCheck {
  std::string name;  // "data", "memcheck"
  CheckResult result = CheckResult::passed;
  std::string message = {};  // how much was done, what failed, or why it was skipped
  bool operator==(const VerificationCheck&) const = default;
};

}  // namespace assay
