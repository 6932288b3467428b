#include "tuner/baselines.h"

#include <algorithm>
#include <map>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "tuner/kernel_version.h"

namespace assay {
namespace {

/// What tells a stored time of a baseline from that of another: the contract that gives inputs and
/// shapes and, where it has steps, these.
std::string hash_of(const KernelSpec& kernel, const BaselineSpec& baseline,
                    const std::string& identity) {
  if (baseline.steps.empty()) return kernel.contract_hash;
  return Hasher().add(kernel.contract_hash).add(identity).hex();
}

}  // namespace

/// What the kernels' contracts name as baselines, each once.
std::vector<Baselines::KernelBaseline> Baselines::of(
    const std::vector<const KernelSpec*>& kernels) const {
  std::vector<KernelBaseline> baselines;
  for (const KernelSpec* kernel : kernels) {
    for (const BaselineSpec& spec : kernel->baseline) {
      std::string identity = identity_of(*kernel, spec, run_.options.include_directories);
      const auto same = std::ranges::find_if(
          baselines, [&](const KernelBaseline& other) { return other.spec->name == spec.name; });
      if (same == baselines.end()) {
        baselines.push_back({kernel, &spec, std::move(identity)});
      } else if (same->identity != identity) {
        throw UsageError(
            "the baseline {} of {} is not that of {}, which competes with it: give one of them "
            "another name",
            spec.name, kernel->name, same->kernel->name);
      }
    }
  }
  return baselines;
}

/// A request that gives inputs and shapes; nothing if the problem has no configuration.
std::optional<TrialRequest> Baselines::first_request(const KernelSpec& kernel,
                                                     const Problem& problem) {
  const std::optional<Config> first = run_.first_config(kernel, problem);
  if (!first) return std::nullopt;
  try {
    return run_.request_of(kernel, problem, *first, {});
  } catch (const PlanError&) {
    return std::nullopt;  // the trials of this problem will each say what is wrong
  }
}

const std::string& Baselines::cublas_version() {
  if (!cublas_version_) cublas_version_ = run_.device.cublas_version();
  return *cublas_version_;
}

std::optional<double> Baselines::stored_ns(const Question& asked, const KernelBaseline& baseline) {
  const auto& [kernel, spec, identity] = baseline;
  const std::string hash = hash_of(*kernel, *spec, identity);
  std::optional<double> best_ns;
  for (const BaselineRow& row : run_.store.baselines(SweepRun::filter(asked))) {
    const BaselineRecord& record = row.record;
    if (!is_comparable(row, asked) ||
        record.protocol.precision_ratio != run_.sweep.measure.precision_ratio ||
        record.cublas != cublas_version() || record.contract_hash != hash) {
      continue;
    }
    best_ns = std::min(best_ns.value_or(record.timing.median_ns), record.timing.median_ns);
  }
  return best_ns;
}

/// Runs a baseline and stores its times. What does not count is named, and has no time.
std::vector<BaselineTiming> Baselines::time(const TrialRequest& request, const std::string& op,
                                            const KernelBaseline& baseline) {
  const auto& [kernel, spec, identity] = baseline;
  check_interrupt();
  run_.progress.start_problem(kernel->name, to_text(request.plan.problem), std::nullopt);
  run_.progress.stage("timing the baseline");
  const AddElapsed busy(run_.report.device_s);
  const TrialKey key = run_.key_of(*kernel, request.plan.problem, request.plan.config);
  std::vector<BaselineTiming> timings = run_.device.run_baselines(request, {spec->name});
  std::erase_if(timings, [&](const BaselineTiming& timing) {
    if (timing.failure.empty()) return false;
    run_.report.warn("{}: the baseline {} does not count: {}", to_text(request.plan.problem),
                     timing.name, timing.failure);
    return true;
  });
  for (const BaselineTiming& timing : timings) {
    run_.store.add_baseline(
        run_.id, {op, request.plan.problem, key.protocol, key.toolchain, timing.name, timing.detail,
                  timing.timing, recorded_or_now(timing.recorded_at), cublas_version(),
                  hash_of(*kernel, *spec, identity)});
  }
  return timings;
}

std::optional<double> Baselines::measure(const Question& asked,
                                         const std::vector<const KernelSpec*>& kernels) {
  names_.clear();
  plans_.clear();
  static_cast<void>(of(kernels));  // a name that two of them use differently is a mistake
  std::map<const KernelSpec*, TrialRequest> requests;
  std::vector<const KernelSpec*> with_configurations;
  for (const KernelSpec* kernel : kernels) {
    if (kernel->baseline.empty()) continue;
    if (auto request = first_request(*kernel, asked.problem)) {
      requests.emplace(kernel, *std::move(request));
      with_configurations.push_back(kernel);
    }
  }
  const std::vector<KernelBaseline> baselines = of(with_configurations);
  for (const KernelBaseline& baseline : baselines) {
    if (baseline.spec->steps.empty()) continue;
    plans_.push_back(
        run_.baseline_plan(*baseline.kernel, *baseline.spec, requests.at(baseline.kernel).plan));
  }
  if (run_.options.compile_only) return std::nullopt;

  std::optional<double> best_ns;
  for (const KernelBaseline& baseline : baselines) {
    std::optional<double> time_ns = stored_ns(asked, baseline);
    if (!time_ns) {
      TrialRequest request = requests.at(baseline.kernel);
      request.plan.baselines = plans_;
      for (const BaselineTiming& timing : time(request, asked.op, baseline)) {
        time_ns = std::min(time_ns.value_or(timing.timing.median_ns), timing.timing.median_ns);
      }
    }
    // One that ended its worker would end a re-rank, too.
    if (time_ns || baseline.spec->steps.empty()) names_.push_back(baseline.spec->name);
    if (time_ns && !baseline.spec->relative)
      best_ns = std::min(best_ns.value_or(*time_ns), *time_ns);
  }
  return best_ns;
}

std::vector<std::string> Baselines::identities(
    const std::vector<const KernelSpec*>& kernels) const {
  std::vector<std::string> identities;
  for (const KernelBaseline& baseline : of(kernels)) identities.push_back(baseline.identity);
  return identities;
}

std::vector<std::string> Baselines::runnable(const std::vector<std::string>& identities) const {
  std::vector<std::string> names;
  for (const std::string& identity : identities) {
    const std::string name = identity.substr(0, identity.find(':'));
    if (std::ranges::find(names_, name) != names_.end()) names.push_back(name);
  }
  return names;
}

}  // namespace assay
