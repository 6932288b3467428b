#pragma once

#include <stdexcept>

#include <fmt/format.h>

namespace assay {

/// What failed: a text, or a format of fmt and what stands in it.
struct FormattedError : std::runtime_error {
  using std::runtime_error::runtime_error;
  template <typename Part, typename... Parts>
  explicit FormattedError(fmt::format_string<Part, Parts...> format, Part&& part, Parts&&... parts)
      : std::runtime_error(
            fmt::format(format, std::forward<Part>(part), std::forward<Parts>(parts)...)) {}
};

/// The machine is broken or unfit (no driver, no NVRTC, disk full, a foreign database): exit
/// code 3.
struct Error : FormattedError {
  using FormattedError::FormattedError;
};

/// The user's mistake on the command line or in a file: exit code 2.
struct UsageError : FormattedError {
  using FormattedError::FormattedError;
};

/// Ctrl-C or SIGTERM arrived; everything measured so far is stored: exit code 130.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

/// Thrown with the failure nested inside (std::throw_with_nested): the JSON document on stdout has
/// been written and tells of it, so that main writes no second one.
struct Reported : std::runtime_error {
  Reported() : std::runtime_error("reported") {}
};

enum ExitCode : int {
  kExitDone = 0,
  kExitNo = 1,
  kExitUsage = 2,
  kExitMachine = 3,
  kExitInterrupted = 130,
};

}  // namespace assay
