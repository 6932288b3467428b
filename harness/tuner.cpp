#include "tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "compile/source_tree.h"
#include "screening.h"
#include "space/space.h"

namespace assay {
namespace {

constexpr auto kPollPeriod = std::chrono::microseconds(200);

/// Whether the kernel is written for the architecture: "80" runs on it and on all later ones, "90a"
/// on compute capability 9.0 alone.
bool runs_on(const KernelSpec& kernel, int cc) {
  return std::any_of(kernel.arch.begin(), kernel.arch.end(), [cc](const std::string& arch) {
    const int number = std::stoi(arch);
    return arch.back() == 'a' ? number == cc : number <= cc;
  });
}

CompileResult wait_for(std::future<CompileResult> future) {
  while (future.wait_for(kPollPeriod) != std::future_status::ready) check_interrupt();
  return future.get();
}

/// Whether the store has a verdict with a winner for the op, problem, protocol and objective of
/// `asked`, of this device and provenance.
bool is_ranked(const Store& store, const RankRecord& asked, const DeviceInfo& device,
               const std::string& provenance) {
  Filter filter;
  filter.op = asked.op;
  filter.problem = to_text(asked.problem);
  const std::vector<RankRow> rows = store.ranks(filter);
  return std::any_of(rows.begin(), rows.end(), [&](const RankRow& row) {
    const bool has_winner = std::any_of(row.record.entries.begin(), row.record.entries.end(),
                                        [](const RankEntry& entry) { return entry.winner; });
    return has_winner && row.device.uuid == device.uuid && row.provenance == provenance &&
           row.record.protocol.name == asked.protocol.name &&
           row.record.objective == asked.objective;
  });
}

}  // namespace

Tuner::Tuner(const SweepSpec& sweep, Device& device, Compiler& compiler, Store& store,
             Progress& progress, SweepRun::Options options)
    : run_{sweep, device, compiler, store, progress, std::move(options)} {
  for (const KernelSpec& kernel : sweep.kernels) {
    run_.versions[kernel.name] = {
        kernel.name, kernel.op,
        SourceTree::read(kernel.source_path, run_.options.include_directories).hash(),
        kernel.contract_hash};
  }
}

void Tuner::run() {
  run_.started = std::chrono::steady_clock::now();
  run_.id = run_.store.begin_sweep(run_.sweep.name, read_file(run_.sweep.yaml_path),
                                   run_.options.command_line, run_.device.info(),
                                   run_.options.provenance);
  const AddElapsed wall(run_.report.wall_s);
  try {
    run_all();
  } catch (const Interrupted&) {
    run_.compiler.cancel();
    run_.progress.finish();
    run_.store.end_sweep(run_.id, "interrupted");
    throw;
  } catch (...) {
    run_.compiler.cancel();
    run_.progress.finish();
    // The store itself may have failed. The first error is the one to report.
    try {
      run_.store.end_sweep(run_.id, "failed");
    } catch (const std::exception& error) {
      run_.report.warnings.push_back(error.what());
    }
    throw;
  }
  run_.progress.finish();
  run_.store.end_sweep(run_.id, "done");
}

void Tuner::run_all() {
  std::vector<std::string> ops;  // in the order the sweep names their kernels
  for (const KernelSpec& kernel : run_.sweep.kernels) {
    if (!runs_on(kernel, run_.device.info().cc)) {
      run_.report.warnings.push_back(
          fmt::format("{} is left out: it is written for compute capability "
                      "{}, and this device has {}",
                      kernel.name, fmt::join(kernel.arch, ", "), run_.device.info().cc));
      continue;
    }
    if (std::find(ops.begin(), ops.end(), kernel.op) == ops.end()) ops.push_back(kernel.op);
    for (const Problem& problem : run_.sweep.problems) count_space(kernel, problem);
  }
  if (run_.report.total == 0) {
    throw UsageError("nothing to run: the constraints leave no configuration on " +
                     run_.device.info().name + "; `assay list FILE` shows which removed how many");
  }
  run_.progress.begin(run_.report.total);
  for (const Problem& problem : run_.sweep.problems) {
    for (const std::string& op : ops) run_problem(op, problem);
  }
}

void Tuner::count_space(const KernelSpec& kernel, const Problem& problem) {
  const Space::Size size = Space(kernel, problem, run_.device.info()).size();
  const auto budget = run_.sweep.search.budget_configs;
  const std::size_t valid = static_cast<std::size_t>(size.valid);
  run_.report.total += budget ? std::min(valid, static_cast<std::size_t>(*budget)) : valid;
  for (const Removal& removal : size.removed) {
    run_.report.removed[removal.constraint] += removal.points;
  }
}

void Tuner::run_problem(const std::string& op, const Problem& problem) {
  std::vector<Candidate> correct;
  const std::size_t measured_before = run_.report.measured;
  for (const KernelSpec& kernel : run_.sweep.kernels) {
    if (kernel.op != op || !runs_on(kernel, run_.device.info().cc)) continue;
    const std::optional<double> baseline_ns = measure_baselines(kernel, problem);
    run_.progress.start_problem(kernel.name, to_text(problem), baseline_ns);
    Screening(run_, kernel, problem, correct).run();
  }
  const bool measured_now = run_.report.measured > measured_before;
  if (!run_.options.compile_only) rank(op, problem, std::move(correct), measured_now);
}

std::optional<double> Tuner::measure_baselines(const KernelSpec& kernel, const Problem& problem) {
  if (kernel.baseline.empty() || run_.options.compile_only) return std::nullopt;
  const auto fastest = [](std::optional<double> best, double time_ns) {
    return best ? std::min(*best, time_ns) : time_ns;
  };
  std::optional<double> best_ns;
  Filter filter;
  filter.op = kernel.op;
  filter.problem = to_text(problem);
  for (const BaselineRow& row : run_.store.baselines(filter)) {
    if (row.device.uuid != run_.device.info().uuid || row.device.name != run_.device.info().name ||
        row.provenance != run_.options.provenance ||
        row.record.toolchain.driver != run_.device.info().driver ||
        row.record.protocol.name != run_.sweep.measure.protocol) {
      continue;
    }
    best_ns = fastest(best_ns, row.record.timing.median_ns);
  }
  if (best_ns) return best_ns;

  check_interrupt();
  const Space space(kernel, problem, run_.device.info());
  std::optional<Config> first;
  space.for_each([&](const std::vector<int>& point) {
    first = space.config(point);
    return false;
  });
  if (!first) return std::nullopt;
  run_.progress.start_problem(kernel.name, to_text(problem), std::nullopt);
  run_.progress.stage("timing the baseline");
  const AddElapsed busy(run_.report.device_s);
  TrialRequest request;
  try {
    request = run_.request_of(kernel, problem, *first, {});
  } catch (const PlanError&) {
    return std::nullopt;  // the trials of this problem will each say what is wrong
  }
  const TrialKey key = run_.key_of(kernel, problem, *first);
  for (const BaselineTiming& baseline : run_.device.run_baselines(request, kernel.baseline)) {
    run_.store.add_baseline(run_.id, {kernel.op, problem, key.protocol, key.toolchain,
                                      baseline.name, baseline.detail, baseline.timing, now_utc()});
    best_ns = fastest(best_ns, baseline.timing.median_ns);
  }
  return best_ns;
}

void Tuner::rank(const std::string& op, const Problem& problem, std::vector<Candidate> correct,
                 bool measured_now) {
  if (correct.empty()) return;
  check_interrupt();
  const TrialKey key = run_.key_of(*correct.front().kernel, problem, correct.front().config);
  RankRecord asked{op, problem, key.protocol, 0, {}, "", {}, run_.sweep.rerank.objective};
  if (!measured_now && is_ranked(run_.store, asked, run_.device.info(), run_.options.provenance)) {
    return;
  }
  keep_best(correct, run_.sweep.rerank.top);
  run_.progress.stage(fmt::format("re-ranking the best {}", correct.size()));
  const std::vector<TrialRequest> requests = requests_of(correct, problem);
  RerankResult result;
  {
    const AddElapsed busy(run_.report.device_s);
    result = run_.device.rerank(requests, correct.front().kernel->baseline, run_.sweep.rerank);
  }
  asked.finished_at = now_utc();
  const RankRecord record = verdict_of(std::move(asked), result, correct, requests);
  if (record.entries.empty()) return;  // a replay of a recording that was never re-ranked
  if (record.objective != run_.sweep.rerank.objective) warn_of_no_energy();
  for (const RankEntry& entry : record.entries) {
    if (!entry.failure.empty()) {
      run_.report.warnings.push_back(fmt::format("{} {} {} was dropped by the re-rank: {}",
                                                 to_text(problem), entry.kernel, entry.config,
                                                 entry.failure));
    }
  }
  run_.store.add_rank(run_.id, record);
}

void Tuner::warn_of_no_energy() {
  const std::string warning =
      run_.options.provenance.empty()
          ? fmt::format("energy was not measured on {}: NVML does not tell it; ranked by time",
                        run_.device.info().name)
          : fmt::format("energy was not {}; ranked by time", run_.options.provenance);
  // Say it once: it would be the same for each problem.
  std::vector<std::string>& warnings = run_.report.warnings;
  if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) {
    warnings.push_back(warning);
  }
}

std::vector<TrialRequest> Tuner::requests_of(const std::vector<Candidate>& best,
                                             const Problem& problem) {
  std::vector<TrialRequest> requests;
  for (const Candidate& candidate : best) {
    const CompileResult compiled =
        wait_for(run_.compiler.submit(run_.compile_job(*candidate.kernel, candidate.config)));
    if (!compiled.ok) {
      throw Error("a cubin of the best configurations cannot be made again: " +
                  to_text(candidate.config) + ": " + compiled.log);
    }
    requests.push_back(run_.request_of(*candidate.kernel, problem, candidate.config, compiled));
    requests.back().screened_ns = candidate.median_ns;
  }
  return requests;
}

}  // namespace assay
