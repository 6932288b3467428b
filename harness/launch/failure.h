#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/trial.h"
#include "cuda/driver.h"

namespace assay {

/// What a configuration did wrong. It is thrown inside the worker, and TrialRunner makes it the
/// outcome of the trial.
class Failure : public std::exception {
 public:
  Failure(Status status, std::string kind, std::string message) {
    outcome_.status = status;
    outcome_.kind = std::move(kind);
    outcome_.message = std::move(message);
  }
  template <typename Part, typename... Parts>
  Failure(Status status, std::string kind, fmt::format_string<Part, Parts...> format, Part&& part,
          Parts&&... parts)
      : Failure(status, std::move(kind),
                fmt::format(format, std::forward<Part>(part), std::forward<Parts>(parts)...)) {}
  explicit Failure(Outcome outcome) : outcome_(std::move(outcome)) {}
  const Outcome& outcome() const { return outcome_; }
  /// Throws the failure again, with `note` behind its message.
  [[noreturn]] void add_note(const std::string& note) const {
    Outcome outcome = outcome_;
    outcome.message += "; " + note;
    throw Failure(std::move(outcome));
  }
  const char* what() const noexcept override { return outcome_.message.c_str(); }

 private:
  Outcome outcome_;
};

/// A launch that cannot be made as it is described.
template <typename... Parts>
Failure refused(fmt::format_string<Parts...> format, Parts&&... parts) {
  return {Status::runtime, "launch", fmt::format(format, std::forward<Parts>(parts)...)};
}

/// The outcome `runtime` of a driver's error, with the kind that the error belongs to: launch,
/// illegal_address, trap, out_of_memory or sticky; or, on the emulator, one of emulator/errors.h.
Outcome runtime_outcome(const CudaError& error);

}  // namespace assay
