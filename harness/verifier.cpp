#include "verifier.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "base/error.h"
#include "device/sanitizer.h"
#include "space/small_problem.h"

namespace assay {
namespace {

// A check ends after so long with what it has done.
constexpr double kMostSeconds = 20;

/// A fault of the machine, or a reference that has no answer, says nothing of the configuration.
VerificationCheck check_of(std::string name, const Outcome& outcome) {
  if (outcome.status == Status::correct) {
    return {std::move(name), CheckResult::passed, outcome.message};
  }
  const bool unknown = is_machine_fault(outcome.status, outcome.kind) || outcome.kind == "oracle";
  return {std::move(name), unknown ? CheckResult::skipped : CheckResult::failed,
          fmt::format("{}/{}: {}", to_text(outcome.status), outcome.kind, outcome.message)};
}

/// A sweep may have given a parameter values that the kernel does not list.
KernelSpec with_values_of(const Config& config, KernelSpec kernel) {
  for (ParamSpec& param : kernel.params) {
    for (const auto& [name, value] : config) {
      if (name == param.name) param.values = {value};
    }
  }
  return kernel;
}

// Of compute-sanitizer.
constexpr std::array kTools = {"memcheck", "racecheck", "initcheck", "synccheck"};

}  // namespace

VerificationCheck Verifier::Target::noted(VerificationCheck check) const {
  if (note.empty() || check.result == CheckResult::skipped) return check;
  check.message += check.message.empty() ? note : "; " + note;
  return check;
}

void Verifier::sanitize(const Target& target, const CompileResult& compiled, const Add& add) {
  const std::filesystem::path sanitizer = find_sanitizer();
  std::string why_not = target.why_not;
  if (sanitizer.empty()) {
    why_not =
        "there is no compute-sanitizer in the CUDA toolkit or in PATH; install it, or set "
        "CUDA_HOME";
  }
  for (const char* tool : kTools) {
    if (!why_not.empty()) {
      add({tool, CheckResult::skipped, why_not});
      continue;
    }
    const TrialRequest request =
        run_.request_of(target.kernel, target.problem, target.config, compiled);
    add(target.noted(gpu_.sanitize(sanitizer, tool, request)));
  }
}

void Verifier::check(const Target& target, const CompileResult& compiled, const Add& add) {
  for (const auto& [check, count] : {std::pair("data", counts_.seeds),
                                     {"launches", counts_.launches},
                                     {"streams", counts_.launches}}) {
    const std::string name = target.prefix + check;
    if (!target.why_not.empty()) {
      add({name, CheckResult::skipped, target.why_not});
      continue;
    }
    const TrialRequest request =
        run_.request_of(target.kernel, target.problem, target.config, compiled);
    add(target.noted(check_of(name, gpu_.verify(request, {check, count, kMostSeconds}))));
  }
}

Verification Verifier::verify(const KernelSpec& kernel, const Problem& problem,
                              const Config& config, const Tell& tell) {
  Verification verification;
  verification.toolchain = run_.key_of(kernel, problem, config).toolchain;
  const auto add = [&](VerificationCheck check) {
    tell(check);
    verification.checks.push_back(std::move(check));
  };
  const CompileResult compiled = run_.compile(kernel, config);
  if (compiled.ok) {
    const DeviceInfo& device = run_.device.info();
    const KernelSpec widened = with_values_of(config, kernel);
    check({kernel, config, problem, "", obstacle(widened, problem, config, device), ""}, compiled,
          add);
    Target small = {kernel, config, kernel.smoke, "smoke ", "", ""};
    if (const auto found = small_problem(widened, problem, config, device)) {
      small.problem = *found;
      if (*found != kernel.smoke) small.note = "on " + to_text(*found);
    } else {
      small.why_not = obstacle(widened, kernel.smoke, config, device);
    }
    if (small.problem != problem) check(small, compiled, add);
    sanitize(small, compiled, add);
  } else {
    add({"compile", CheckResult::failed, compiled.log});
  }
  verification.finished_at = now_utc();
  return verification;
}

}  // namespace assay
