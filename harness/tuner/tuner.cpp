#include "tuner/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/file.h"
#include "base/find_named.h"
#include "base/interrupt.h"
#include "space/space.h"
#include "tuner/kernel_version.h"
#include "tuner/screening.h"
#include "tuner/source_check.h"

namespace assay {
namespace {

// The share of a budget of seconds in which the spaces are counted. Then they are listed or drawn,
// so that half of the budget is left for trials however large they are.
constexpr double kCountingRatio = 0.25;
// Counting longer than this is shown.
constexpr double kSilentS = 1;

// So many configurations are drawn of a space that is too large to be listed, or as many as the
// budget has.
constexpr std::int64_t kLeastDrawn = 20'000;

// As much as 16 cores compile in three seconds, which is about the time of a re-rank.
constexpr std::size_t kMostAhead = 512;

/// The points of a space that a replay has trials of, in the order of the space; nothing where it
/// has none.
std::optional<std::vector<std::vector<int>>> recorded_points(const SweepRun& run,
                                                             const KernelSpec& kernel,
                                                             const Problem& problem,
                                                             const Space& space) {
  std::vector<std::vector<int>> points;
  for (const Config& config :
       run.device.recorded(kernel.name, problem, run.sweep.measure.protocol)) {
    const std::optional<std::vector<int>> point = space.point(config);
    if (point && space.is_valid(*point)) points.push_back(*point);
  }
  if (points.empty()) return std::nullopt;
  std::ranges::sort(points);
  return points;
}

}  // namespace

Tuner::Tuner(const SweepSpec& sweep, Device& device, Compiler& compiler, Store& store,
             Progress& progress, SweepRun::Options options)
    : run_{sweep, device, compiler, store, progress, std::move(options)},
      baselines_(run_),
      reranking_(run_, baselines_) {
  for (const KernelSpec& kernel : sweep.kernels) {
    run_.versions[kernel.name] = version_of(kernel, run_.options.include_directories);
    for (std::string& warning : source_warnings(kernel, run_.options.include_directories)) {
      run_.report.warn(std::move(warning));
    }
  }
}

void Tuner::run() {
  ProblemQueue problems(run_.sweep.problems.size());
  run(problems, std::nullopt);
}

void Tuner::reserve(ProblemQueue& problems, std::size_t gpu) const {
  const std::vector<Problem>& all = run_.sweep.problems;
  for (const TrialRow& row : run_.store.trials({})) {
    if (row.device.uuid != device().uuid || !row.provenance.empty()) continue;
    const auto at = std::ranges::find(all, row.record.problem);
    if (at == all.end()) continue;
    problems.reserve(static_cast<std::size_t>(at - all.begin()), gpu);
  }
}

void Tuner::run(ProblemQueue& problems, std::optional<std::size_t> gpu) {
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
  std::vector<std::string> names = run_.sweep.rerank.objective.counters();
  // A GPU tells by measuring whether it tells its energy; a recording is known.
  if (run_.is_replay() && run_.sweep.rerank.objective.reads("energy_j")) {
    names.emplace_back("energy_j");
  }
  if (names.empty() || run_.options.compile_only) return;
  const std::vector<std::string> known = run_.device.countable(names);
  for (const std::string& name : names) {
    if (std::ranges::count(known, name) > 0) continue;
    if (!run_.is_replay()) {
      throw Error("the objective reads {}, which {} does not count", name, run_.device.info().name);
    }
    throw UsageError("the objective reads {}, which no trial {} has", name,
                     run_.options.provenance);
  }
}

void Tuner::run_all(ProblemQueue& problems, std::optional<std::size_t> gpu) {
  std::vector<const KernelSpec*> kernels;
  std::vector<std::string> left_out;
  std::vector<std::string> ops;  // in the order the sweep names their kernels
  for (const KernelSpec& kernel : run_.sweep.kernels) {
    if (!runs_on(kernel, run_.device.info().cc)) {
      left_out.push_back(fmt::format(
          "{} is left out: it is written for compute capability {}, and this device has {}",
          kernel.name, fmt::join(kernel.arch, ", "), run_.device.info().cc));
      continue;
    }
    add_once(ops, kernel.op);
    kernels.push_back(&kernel);
  }
  if (kernels.empty()) throw UsageError("nothing to run: {}", fmt::join(left_out, "; "));
  run_.report.warnings.insert(run_.report.warnings.end(), left_out.begin(), left_out.end());
  count_spaces(kernels);
  if (run_.report.total == 0 && !run_.drawn.empty()) {
    throw UsageError(
        "nothing to run: no configuration was found in the time that looking for them may take; "
        "declare those parameters first that constraints remove most of");
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
  // GPUs that share the problems take whichever is next when they are done.
  const bool knows_next = !gpu && !run_.is_replay() && !run_.options.compile_only;
  while (const auto index = problems.take(gpu.value_or(0))) {
    const Problem& problem = run_.sweep.problems[*index];
    try {
      for (const KernelSpec* kernel : kernels) {
        if (gpu) run_.report.total += num_configs_.at({kernel->name, to_text(problem)});
      }
      for (const std::string& op : ops) {
        answer(run_.question(op, problem), kernels, [&] {
          if (knows_next) compile_ahead(kernels, *index + 1);
        });
      }
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
      const std::optional<Config> first = run_.first_config(*kernel, problem);
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
      double max_seconds = std::numeric_limits<double>::infinity();
      if (budget_s) {
        const double left_s = kCountingRatio * *budget_s - seconds_since(run_.started);
        max_seconds = left_s / static_cast<double>(num_left--);
      }
      if (seconds_since(run_.started) > kSilentS) {
        run_.progress.stage("counting the configurations of " + kernel->name + " " +
                            to_text(problem));
      }
      count_space(*kernel, problem, max_seconds);
    }
  }
}

/// What is too large to be listed is drawn, if the search need not try all of it. The replay of a
/// search goes through what was recorded: its times would lead it elsewhere.
void Tuner::count_space(const KernelSpec& kernel, const Problem& problem, double max_seconds) {
  const SearchSpec& search = run_.sweep.search;
  const Space space(kernel, problem, run_.device.info());
  const bool tries_all =
      !search.budget_configs && !search.budget_seconds && !search.budget_until_ratio;
  Space::Size size = space.size(kMaxCountedSteps, max_seconds);
  if (tries_all && !size.whole && size.valid <= kMaxConfigs) size = space.size(kMaxSpaceSteps);
  std::size_t valid = static_cast<std::size_t>(size.valid);
  std::optional<std::vector<std::vector<int>>> points;
  if (!tries_all) points = recorded_points(run_, kernel, problem, space);
  if (!points && (!size.whole || size.valid > kMaxConfigs)) {
    if (tries_all) {
      throw UsageError(
          "kernel {}: expected at most {} configurations to try all of, found {}{} for {}; give "
          "the parameters fewer values, first {}, or the search a budget, such as `search: "
          "{{budget: {{configs: 1000}}}}`",
          kernel.name, kMaxConfigs, size.whole ? "" : "over ", size.valid, to_text(problem),
          space.widest_param());
    }
    const auto asked = static_cast<std::size_t>(
        std::clamp<std::int64_t>(search.budget_configs.value_or(0), kLeastDrawn, kMaxConfigs));
    points = space.draw(asked, search.seed, max_seconds);
    run_.report.warn(
        "{} {}: the space has {}{} configurations; the search goes through {} of them, which were "
        "drawn, and what is near the fastest",
        kernel.name, to_text(problem), size.whole ? "" : "over ", size.valid, points->size());
  }
  if (points) {
    valid = points->size();
    run_.drawn[{kernel.name, to_text(problem)}] = *std::move(points);
  }
  const auto& budget = search.budget_configs;
  const std::size_t asked = budget ? std::min(valid, static_cast<std::size_t>(*budget)) : valid;
  num_configs_[{kernel.name, to_text(problem)}] = asked;
  run_.report.total += asked;
  for (const Removal& removal : size.removed) {
    run_.report.removed[removal.constraint] += removal.points;
  }
}

/// By those of `kernels` that are of the op. `before_rerank` gives the compiler something to do
/// meanwhile.
void Tuner::answer(const Question& asked, std::vector<const KernelSpec*> kernels,
                   const std::function<void()>& before_rerank) {
  const Problem& problem = asked.problem;
  std::vector<Candidate> correct;
  std::erase_if(kernels, [&](const KernelSpec* kernel) { return kernel->op != asked.op; });
  const std::optional<double> baseline_ns = baselines_.measure(asked, kernels);
  for (const KernelSpec* kernel : kernels) {
    run_.progress.start_problem(kernel->name, to_text(problem), baseline_ns);
    Screening(run_, *kernel, problem, correct).run();
  }
  reranking_.time_the_raced_again(problem, correct);
  run_.store.end_screening(run_.id, asked.op, problem);
  if (run_.options.compile_only || correct.empty()) return;
  before_rerank();
  reranking_.run(asked, std::move(correct));
}

/// Has the compiler make what comes from the problem `next` on: its threads would be idle while the
/// GPU re-ranks. Problems with few configurations leave time for those behind them.
void Tuner::compile_ahead(const std::vector<const KernelSpec*>& kernels, std::size_t next) {
  const std::vector<Problem>& problems = run_.sweep.problems;
  std::vector<Candidate> none;
  std::size_t num_ahead = 0;
  for (std::size_t i = next; i < problems.size() && num_ahead < kMostAhead; ++i) {
    for (const KernelSpec* kernel : kernels) {
      num_ahead += num_configs_.at({kernel->name, to_text(problems[i])});
      if (i >= num_compiled_ahead_) Screening(run_, *kernel, problems[i], none).compile_ahead();
    }
    num_compiled_ahead_ = std::max(num_compiled_ahead_, i + 1);
  }
}

std::vector<FleetEnd> run_side_by_side(std::span<Tuner* const> tuners) {
  std::map<std::string, ProblemQueue> problems;  // of each model
  for (std::size_t gpu = 0; gpu < tuners.size(); ++gpu) {
    const Tuner& tuner = *tuners[gpu];
    tuner.reserve(problems.try_emplace(tuner.device().name, tuner.num_problems()).first->second,
                  gpu);
  }
  std::vector<FleetEnd> ends(tuners.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t gpu = 0; gpu < tuners.size(); ++gpu) {
      threads.emplace_back([&, gpu] {
        ProblemQueue& shared = problems.at(tuners[gpu]->device().name);
        try {
          tuners[gpu]->run(shared, gpu);
        } catch (...) {
          ends[gpu].failure = std::current_exception();
          shared.leave(gpu);
        }
      });
    }
  }
  for (std::size_t gpu = 0; gpu < tuners.size(); ++gpu) {
    ends[gpu].work_is_left = problems.at(tuners[gpu]->device().name).is_left();
  }
  return ends;
}

}  // namespace assay
