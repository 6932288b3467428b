#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/trial.h"

namespace assay {

/// The tools of compute-sanitizer, which are the names of checks too.
inline constexpr std::string_view kSanitizerTools[] = {"memcheck", "racecheck", "initcheck",
                                                       "synccheck"};

/// compute-sanitizer, of the toolkit or in PATH; empty where it is missing.
std::filesystem::path find_sanitizer();

/// Runs `PROGRAM WORDS...` under one of the tools of `sanitizer`. What the tool finds is a check
/// that failed; where it cannot work, the check is skipped. Throws Interrupted, and Error when it
/// cannot be started.
VerificationCheck sanitize(const std::filesystem::path& sanitizer, std::string_view tool,
                           const std::filesystem::path& program,
                           const std::vector<std::string>& words);

}  // namespace assay
