#include "tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "kernel_version.h"
#include "ranking/candidate_set.h"
#include "same_code.h"
#include "screening.h"
#include "space/space.h"
#include "spec/twins.h"

namespace assay {
namespace {

// The share of a budget of seconds in which the spaces are counted. To screen them they are walked
// once more, so that half of the budget is left for trials however large they are.
constexpr double kCountingRatio = 0.25;

/// Whether the kernel is written for the architecture: "80" runs on it and on all later ones, "90a"
/// on compute capability 9.0 alone.
bool runs_on(const KernelSpec& kernel, int cc) {
  return std::any_of(kernel.arch.begin(), kernel.arch.end(), [cc](const std::string& arch) {
    const int number = std::stoi(arch);
    return arch.back() == 'a' ? number == cc : number <= cc;
  });
}

}  // namespace

Tuner::Tuner(const SweepSpec& sweep, Device& device, Compiler& compiler, Store& store,
             Progress& progress, SweepRun::Options options)
    : run_{sweep, device, compiler, store, progress, std::move(options)}, baselines_(run_) {
  for (const KernelSpec& kernel : sweep.kernels) {
    run_.versions[kernel.name] = version_of(kernel, run_.options.include_directories);
  }
}

void Tuner::run() {
  ProblemQueue problems(run_.sweep.problems.size());
  run_once(problems, std::nullopt);
}

void Tuner::run(ProblemQueue& problems, std::size_t gpu) { run_once(problems, gpu); }

/// `gpu`: which one it is of those that share the problems, if there are several.
void Tuner::run_once(ProblemQueue& problems, std::optional<std::size_t> gpu) {
  run_.started = std::chrono::steady_clock::now();
  check_counters();
  run_.id = run_.store.begin_sweep(run_.sweep.name, read_file(run_.sweep.yaml_path),
                                   run_.options.command_line, run_.device.info(),
                                   run_.options.provenance);
  const AddElapsed wall(run_.report.wall_s);
  try {
    run_all(problems, gpu);
  } catch (const Interrupted&) {
    if (!gpu) run_.compiler.cancel();
    run_.progress.finish();
    run_.store.end_sweep(run_.id, "interrupted");
    throw;
  } catch (...) {
    if (!gpu) run_.compiler.cancel();  // else others still need it
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

/// Whose objective reads what the device cannot count is told before anything runs.
void Tuner::check_counters() {
  const std::vector<std::string> names = run_.sweep.rerank.objective.counters();
  if (names.empty() || run_.options.compile_only) return;
  const std::vector<std::string> known = run_.device.countable(names);
  for (const std::string& name : names) {
    if (std::count(known.begin(), known.end(), name) > 0) continue;
    if (run_.options.provenance.empty()) {
      throw Error(fmt::format("the objective reads {}, which {} does not count", name,
                              run_.device.info().name));
    }
    throw UsageError(fmt::format("the objective reads {}, which no trial {} has", name,
                                 run_.options.provenance));
  }
}

void Tuner::run_all(ProblemQueue& problems, std::optional<std::size_t> gpu) {
  std::vector<const KernelSpec*> kernels;
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
    kernels.push_back(&kernel);
  }
  count_spaces(kernels);
  if (run_.report.total == 0 && !run_.end_steps.empty()) {
    throw UsageError(
        "nothing to run: no configuration was found in the part of the budget that looking for "
        "them may take; declare those parameters first that constraints remove most of");
  }
  if (run_.report.total == 0) {
    throw UsageError("nothing to run: the constraints leave no configuration on " +
                     run_.device.info().name + "; `assay list FILE` shows which removed how many");
  }
  run_.progress.begin(run_.report.total);
  if (gpu) {
    problems.order(costs(kernels));
    run_.report.total = 0;  // of what this GPU takes
  }
  while (const auto index = problems.take(gpu.value_or(0))) {
    const Problem& problem = run_.sweep.problems[*index];
    try {
      for (const KernelSpec* kernel : kernels) {
        if (gpu) run_.report.total += num_configs_.at({kernel->name, to_text(problem)});
      }
      for (const std::string& op : ops) run_problem(op, problem);
    } catch (...) {
      problems.give_back(*index);
      throw;
    }
    problems.finish();
  }
}

/// What each problem takes, roughly, in seconds: enough to say which is the longest.
std::vector<double> Tuner::costs(const std::vector<const KernelSpec*>& kernels) const {
  // A configuration is checked, loaded and sampled some ten times; the rates are those of a large
  // GPU.
  constexpr double kConfigS = 0.01, kLaunches = 20, kFlopsPerS = 1e14, kBytesPerS = 1e12;
  std::vector<double> costs;
  for (const Problem& problem : run_.sweep.problems) {
    double cost_s = 0;
    for (const KernelSpec* kernel : kernels) {
      const Space space(*kernel, problem, run_.device.info());
      std::optional<Config> first;
      space.for_each(
          [&](const std::vector<int>& point) {
            first = space.config(point);
            return false;
          },
          kMaxSpaceSteps, run_.end_step(*kernel, problem));
      if (!first) continue;
      double launch_s = 0;
      try {
        const Plan plan = make_plan(*kernel, problem, *first, run_.device.info());
        launch_s = std::max(static_cast<double>(plan.flops) / kFlopsPerS,
                            static_cast<double>(plan.bytes) / kBytesPerS);
      } catch (const PlanError&) {  // each configuration will say so as its status
      }
      cost_s += static_cast<double>(num_configs_.at({kernel->name, to_text(problem)})) *
                (kConfigS + kLaunches * launch_s);
    }
    costs.push_back(cost_s);
  }
  return costs;
}

/// With a budget of seconds, each space gets an equal share of what its predecessors have left.
void Tuner::count_spaces(const std::vector<const KernelSpec*>& kernels) {
  const std::optional<double>& budget_s = run_.sweep.search.budget_seconds;
  std::size_t num_left = kernels.size() * run_.sweep.problems.size();
  for (const KernelSpec* kernel : kernels) {
    for (const Problem& problem : run_.sweep.problems) {
      std::optional<double> max_seconds;
      if (budget_s) {
        const double left_s = kCountingRatio * *budget_s - seconds_since(run_.started);
        max_seconds = left_s / static_cast<double>(num_left--);
      }
      count_space(*kernel, problem, max_seconds);
    }
  }
}

void Tuner::count_space(const KernelSpec& kernel, const Problem& problem,
                        std::optional<double> max_seconds) {
  const Space::Size size =
      Space(kernel, problem, run_.device.info()).size(kMaxSpaceSteps, max_seconds);
  if (size.end_step) {
    run_.end_steps[{kernel.name, to_text(problem)}] = *size.end_step;
    run_.report.warn(
        fmt::format("{} {}: the space is too large to be walked through within the budget; only "
                    "its first {} configurations are known",
                    kernel.name, to_text(problem), size.valid));
  }
  const auto budget = run_.sweep.search.budget_configs;
  const std::size_t valid = static_cast<std::size_t>(size.valid);
  const std::size_t asked = budget ? std::min(valid, static_cast<std::size_t>(*budget)) : valid;
  num_configs_[{kernel.name, to_text(problem)}] = asked;
  run_.report.total += asked;
  for (const Removal& removal : size.removed) {
    run_.report.removed[removal.constraint] += removal.points;
  }
}

void Tuner::run_problem(const std::string& op, const Problem& problem) {
  std::vector<Candidate> correct;
  const std::optional<double> baseline_ns = baselines_.measure(op, problem, kernels_of(op));
  for (const KernelSpec* kernel : kernels_of(op)) {
    run_.progress.start_problem(kernel->name, to_text(problem), baseline_ns);
    Screening(run_, *kernel, problem, correct).run();
  }
  time_the_raced_again(problem, correct);
  run_.store.end_screening(run_.id, op, problem);
  if (run_.options.compile_only || correct.empty()) return;
  rank(op, problem, correct);
  rank_all_stored(op, problem, correct);
  count_finalists(op, problem);
}

/// Those of the sweep's that run on the device.
std::vector<const KernelSpec*> Tuner::kernels_of(const std::string& op) const {
  std::vector<const KernelSpec*> kernels;
  for (const KernelSpec& kernel : run_.sweep.kernels) {
    if (kernel.op == op && runs_on(kernel, run_.device.info().cc)) kernels.push_back(&kernel);
  }
  return kernels;
}

/// A configuration that was given up because others were clearly faster has a bound for a time. In
/// another space, where those others are not, it might win: it is timed again unless something here
/// is faster than it can be.
void Tuner::time_the_raced_again(const Problem& problem, std::vector<Candidate>& correct) {
  const auto by_median = [](const Candidate& a, const Candidate& b) {
    return a.median_ns < b.median_ns;
  };
  std::sort(correct.begin(), correct.end(), by_median);
  for (Candidate& candidate : correct) {
    if (!candidate.censored) continue;
    std::optional<double> best_ns;
    for (const Candidate& other : correct) {
      if (other.censored) continue;
      best_ns = std::min(best_ns.value_or(other.median_ns), other.median_ns);
    }
    if (best_ns && candidate.ci_low_ns > *best_ns) continue;
    check_interrupt();
    const KernelSpec& kernel = *candidate.kernel;
    const TrialRecord record =
        run_.try_config(kernel, run_.key_of(kernel, problem, candidate.config),
                        run_.compile(kernel, candidate.config), best_ns);
    run_.store.replace(run_.id, record);
    const Outcome& outcome = record.outcome;
    if (is_machine_fault(outcome.status, outcome.kind)) continue;  // what was known still holds
    const std::optional<Timing>& timing = outcome.timing;
    if (outcome.status != Status::correct || !timing) {
      candidate.kernel = nullptr;  // it fails now
      continue;
    }
    candidate.median_ns = timing->median_ns;
    candidate.ci_low_ns = timing->ci_low_ns;
    candidate.censored = timing->censored();
    candidate.same_as.clear();
    candidate.figures = run_.figures(kernel, record);
  }
  std::erase_if(correct, [](const Candidate& candidate) { return candidate.kernel == nullptr; });
}

/// What a verdict on these candidates is of.
RankRecord Tuner::question(const std::string& op, const Problem& problem,
                           const std::vector<Candidate>& correct) {
  RankRecord asked;
  asked.op = op;
  asked.problem = problem;
  CandidateSet candidates;
  std::vector<const KernelSpec*> kernels;
  for (const Candidate& candidate : correct) {
    const TrialKey key = run_.key_of(*candidate.kernel, problem, candidate.config);
    candidates.add(key.kernel, key.toolchain, key.config);
    asked.protocol = key.protocol;
    asked.toolchain = key.toolchain;
    if (std::find(kernels.begin(), kernels.end(), candidate.kernel) != kernels.end()) continue;
    kernels.push_back(candidate.kernel);
    asked.kernels.push_back(key.kernel);
  }
  const RerankSpec& spec = run_.sweep.rerank;
  asked.objective = spec.objective;
  asked.identity = {candidates.hash(),
                    static_cast<std::int64_t>(candidates.size()),
                    spec.top,
                    spec.rounds,
                    spec.objective,
                    {},
                    "",
                    spec.precision_ratio};
  asked.identity.baselines = baselines_.identities(kernels);
  if (!asked.identity.baselines.empty()) asked.identity.cublas = baselines_.cublas_version();
  return asked;
}

void Tuner::rank(const std::string& op, const Problem& problem, std::vector<Candidate> correct) {
  check_interrupt();
  RankRecord asked = question(op, problem, correct);
  if (run_.store.is_ranked(run_.id, asked)) return;
  const std::vector<std::string> baselines = baselines_.runnable(asked.identity.baselines);
  keep_one_of_each_code(correct, problem, run_.device.info());
  keep_best(correct, run_.sweep.rerank.top, run_.sweep.rerank.objective);
  run_.progress.stage(fmt::format("re-ranking the best {}", correct.size()));
  const std::vector<TrialRequest> requests = requests_of(correct, problem);
  RerankResult result;
  {
    const AddElapsed busy(run_.report.device_s);
    result = run_.device.rerank(requests, baselines, run_.sweep.rerank);
  }
  asked.finished_at = now_utc();
  const RankRecord record = verdict_of(std::move(asked), result, correct, requests);
  if (record.entries.empty()) return;  // a replay of a recording that was never re-ranked
  if (record.objective != run_.sweep.rerank.objective) {
    run_.report.warn(
        run_.options.provenance.empty()
            ? fmt::format("energy was not measured on {}: NVML does not tell it; ranked by {}",
                          run_.device.info().name, to_text(record.objective))
            : fmt::format("energy was not {}; ranked by {}", run_.options.provenance,
                          to_text(record.objective)));
  }
  for (const RankEntry& entry : record.entries) {
    if (entry.failure.empty()) continue;
    run_.report.warn(fmt::format("{} {}{} was dropped by the re-rank: {}", to_text(problem),
                                 entry.kernel.empty() ? "the baseline " : entry.kernel + " ",
                                 entry.config, entry.failure));
  }
  run_.store.add_rank(run_.id, record);
}

/// Other sweeps may have tried more for the same question. Who asks the database without naming a
/// sweep asks about all of it, so these are ranked together, too.
void Tuner::rank_all_stored(const std::string& op, const Problem& problem,
                            const std::vector<Candidate>& correct) {
  if (!run_.options.provenance.empty()) return;  // what was never timed in turn cannot be replayed
  Filter filter;
  filter.op = op;
  filter.problem = to_text(problem);
  filter.status = to_text(Status::correct);
  std::vector<Candidate> all;
  for (TrialRow& row : run_.store.results(filter).trials) {
    TrialRecord& trial = row.record;
    if (row.device != run_.device.info() || !row.provenance.empty() || !trial.outcome.timing ||
        trial.protocol.name != run_.sweep.measure.protocol || trial.problem != problem) {
      continue;
    }
    const KernelSpec* kernel = kernel_of_version(trial.kernel);
    if (kernel == nullptr) {
      run_.report.warn(fmt::format(
          "{} also has trials of {} as it was before it changed or moved: `assay best` cannot "
          "rank those with this sweep's; name the sweep: `assay best --sweep {}`",
          run_.store.path().string(), trial.kernel.name, run_.sweep.name));
      return;
    }
    run_.store.add_measurements(row.id, run_.count_for_objective(*kernel, trial, nullptr));
    const Timing& timing = *trial.outcome.timing;
    all.push_back({kernel, trial.config, timing.median_ns, timing.censored(), trial.compile,
                   timing.roofline_ns, timing.ci_low_ns, trial.outcome.same_as,
                   run_.figures(*kernel, trial)});
  }
  if (all.size() <= correct.size()) return;
  time_the_raced_again(problem, all);
  rank(op, problem, std::move(all));
}

/// The sweep's own kernel, or one from the folder of kernels, if it is still of this version.
const KernelSpec* Tuner::kernel_of_version(const KernelVersion& version) {
  const std::string& name = version.name;
  for (const KernelSpec& kernel : run_.sweep.kernels) {
    if (kernel.name == name) return run_.versions.at(name) == version ? &kernel : nullptr;
  }
  if (!other_kernels_.contains(name)) {
    auto& kernel = other_kernels_[name];
    try {
      auto found = find_kernel(run_.options.kernel_directory, name);
      if (!found) return nullptr;
      kernel = std::make_unique<KernelSpec>(*std::move(found));
      run_.versions[name] = version_of(*kernel, run_.options.include_directories);
    } catch (const UsageError&) {  // gone, or being edited
      kernel.reset();
    }
  }
  const KernelSpec* kernel = other_kernels_.at(name).get();
  return kernel != nullptr && run_.versions.at(name) == version ? kernel : nullptr;
}

/// Counts, in launches of their own, what the sweep asks for of each that was re-ranked to its end,
/// and keeps it with its trial. What is there already is not counted again.
void Tuner::count_finalists(const std::string& op, const Problem& problem) {
  const std::vector<std::string>& names = run_.sweep.measure.counters;
  if (names.empty() || cannot_count_) return;
  Filter filter;
  filter.op = op;
  filter.problem = to_text(problem);
  const Results results = run_.store.results(filter);
  std::set<std::pair<std::string, std::string>> finalists;
  for (const RankRow& rank : results.ranks) {
    if (rank.record.protocol.name != run_.sweep.measure.protocol) continue;
    for (const RankEntry& entry : rank.record.entries) {
      if (entry.eliminated || !entry.failure.empty()) continue;
      finalists.emplace(entry.kernel, entry.config);
    }
  }
  for (const TrialRow& row : results.trials) {
    const TrialRecord& trial = row.record;
    if (row.device != run_.device.info() || row.provenance != run_.options.provenance ||
        trial.protocol.name != run_.sweep.measure.protocol || trial.problem != problem ||
        !finalists.contains({trial.kernel.name, to_text(trial.config)})) {
      continue;
    }
    const KernelSpec* kernel = kernel_of_version(trial.kernel);
    const bool has_all = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return std::any_of(trial.measurements.begin(), trial.measurements.end(),
                         [&](const Measurement& each) { return each.name == name; });
    });
    if (kernel == nullptr || has_all) continue;
    check_interrupt();
    const CompileResult compiled = run_.compile(*kernel, trial.config);
    if (!compiled.ok) continue;
    const TrialRequest request = run_.request_of(*kernel, problem, trial.config, compiled);
    std::vector<Measurement> counted;
    try {
      const AddElapsed busy(run_.report.device_s);
      counted = run_.device.count(request, names);
    } catch (const Error& error) {
      run_.report.warn(error.what());
      cannot_count_ = true;  // nor would it the others
      return;
    }
    run_.store.add_measurements(row.id, counted);
  }
}

std::vector<TrialRequest> Tuner::requests_of(const std::vector<Candidate>& best,
                                             const Problem& problem) {
  std::vector<TrialRequest> requests;
  for (const Candidate& candidate : best) {
    const CompileResult compiled = run_.compile(*candidate.kernel, candidate.config);
    if (!compiled.ok) {
      throw Error("a cubin of the best configurations cannot be made again: " +
                  to_text(candidate.config) + ": " + compiled.log);
    }
    requests.push_back(run_.request_of(*candidate.kernel, problem, candidate.config, compiled));
    requests.back().screened_ns = candidate.median_ns;
    requests.back().plan.baselines = baselines_.plans();
  }
  return requests;
}

}  // namespace assay
