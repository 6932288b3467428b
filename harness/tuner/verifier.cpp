#include "tuner/verifier.h"

#include <fmt/format.h>

#include <utility>

#include "device/sanitizer.h"
#include "space/small_problem.h"
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

}  // namespace

VerificationCheck Verifier::Subject::noted(VerificationCheck check) const {
  if (note.empty()) return check;
  check.message += check.message.empty() ? note : "; " + note;
  return check;
}

void Verifier::sanitize(const Subject& subject, const CompileResult& compiled, const Add& add) {
  const std::filesystem::path sanitizer = find_sanitizer();
  std::string why_not = subject.why_not;
  if (sanitizer.empty()) {
    why_not =
        "there is no compute-sanitizer in the CUDA toolkit or in PATH; install it, or set "
        "CUDA_HOME";
  }
  for (const std::string_view tool : kSanitizerTools) {
    if (!why_not.empty()) {
      add({std::string(tool), CheckResult::skipped, why_not});
      continue;
    }
    const TrialRequest request =
        run_.request_of(subject.kernel, subject.problem, subject.config, compiled);
    add(subject.noted(gpu_.sanitize(sanitizer, tool, request)));
  }
}

void Verifier::check(const Subject& subject, const CompileResult& compiled, const Add& add) {
  for (const auto& [check, count] : {std::pair("contract", 1),
                                     {"data", counts_.seeds},
                                     {"launches", counts_.launches},
                                     {"streams", counts_.launches}}) {
    const std::string name = subject.prefix + check;
    if (!subject.why_not.empty()) {
      add({name, CheckResult::skipped, subject.why_not});
      continue;
    }
    const TrialRequest request =
        run_.request_of(subject.kernel, subject.problem, subject.config, compiled);
    add(subject.noted(check_of(name, gpu_.verify(request, {check, count, kMostSeconds}))));
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
  const CompileResult compiled = run_.compile(kernel, problem, config);
  if (compiled.ok) {
    const DeviceInfo& device = run_.device.info();
    const KernelSpec widened = with_values_of(config, kernel);
    check({kernel, config, problem, "", obstacle(widened, problem, config, device), ""}, compiled,
          add);
    Subject small = {kernel, config, kernel.smoke, "smoke ", "", ""};
    if (const auto found = small_problem(widened, problem, config, device)) {
      small.problem = *found;
      if (*found != kernel.smoke) small.note = "on " + to_text(*found);
    } else {
      small.why_not = obstacle(widened, kernel.smoke, config, device);
    }
    // Macros of the contract may be sizes.
    const CompileResult of_small = run_.compile(kernel, small.problem, config);
    if (!of_small.ok) {
      add({"compile", CheckResult::failed, of_small.log});
    } else {
      if (small.problem != problem) check(small, of_small, add);
      if (counts_.sanitizes) sanitize(small, of_small, add);
    }
  } else {
    add({"compile", CheckResult::failed, compiled.log});
  }
  verification.finished_at = now_utc();
  return verification;
}

}  // namespace assay
