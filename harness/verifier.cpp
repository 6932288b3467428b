#include "verifier.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "base/error.h"
#include "device/sanitizer.h"
#include "space/space.h"

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

/// Why a configuration cannot run on a problem; empty if it can.
std::string obstacle(KernelSpec kernel, const Problem& problem, const Config& config,
                     const DeviceInfo& device) try {
  // A sweep may have given a parameter values that the kernel does not list.
  for (ParamSpec& param : kernel.params) {
    for (const auto& [name, value] : config) {
      if (name == param.name) param.values = {value};
    }
  }
  const auto broken = Space(kernel, problem, device).broken_constraint(config);
  return broken ? fmt::format("{} breaks {}", to_text(problem), *broken) : "";
} catch (const UsageError& error) {
  return error.what();
}

// Of compute-sanitizer.
constexpr std::array kTools = {"memcheck", "racecheck", "initcheck", "synccheck"};

}  // namespace

void Verifier::sanitize(const KernelSpec& kernel, const Config& config,
                        const CompileResult& compiled,
                        const std::function<void(VerificationCheck)>& add) {
  const std::filesystem::path sanitizer = find_sanitizer();
  std::string why_not = obstacle(kernel, kernel.smoke, config, run_.device.info());
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
    add(gpu_.sanitize(sanitizer, tool, run_.request_of(kernel, kernel.smoke, config, compiled)));
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
  if (!compiled.ok) add({"compile", CheckResult::failed, compiled.log});

  std::vector<std::pair<std::string, const Problem*>> problems = {{"", &problem}};
  if (kernel.smoke != problem) problems.emplace_back("smoke ", &kernel.smoke);
  for (const auto& [prefix, sizes] : problems) {
    if (!compiled.ok) break;
    const std::string why_not = obstacle(kernel, *sizes, config, run_.device.info());
    for (const auto& [name, count] : {std::pair("data", counts_.seeds),
                                      {"launches", counts_.launches},
                                      {"streams", counts_.launches}}) {
      if (!why_not.empty()) {
        add({prefix + name, CheckResult::skipped, why_not});
        continue;
      }
      const TrialRequest request = run_.request_of(kernel, *sizes, config, compiled);
      add(check_of(prefix + name, gpu_.verify(request, {name, count, kMostSeconds})));
    }
  }
  if (compiled.ok) sanitize(kernel, config, compiled, add);
  verification.finished_at = now_utc();
  return verification;
}

}  // namespace assay
