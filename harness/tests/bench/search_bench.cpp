// How near to the optimum the strategies come: see below.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "search/search.h"
#include "space/features.h"
#include "spec/kernel_spec.h"
#include "store/store.h"

namespace assay {
namespace {

constexpr const char* kAbout =
    "Replays recorded spaces (recordings, T4 and Kernel Tuner files) and prints the median and "
    "the\n"
    "10th percentile of the fraction of the optimum that each strategy has found after 25, 50, "
    "100\n"
    "and 200 evaluations, and after the time that so many take on average, one after another and\n"
    "compiles included. Failed configurations count as evaluations. A batch is proposed before "
    "the\n"
    "results of any of it. In the end: what a proposal costs in a space of 100,000 points.";

/// A recorded space: what became of each point.
struct RecordedSpace {
  std::string name;
  Points points;
  std::vector<Observation> results = {};  // by point
  std::vector<double> cost_s = {};        // by point: what trying it takes
  double best_ns = std::numeric_limits<double>::infinity();
  std::vector<std::vector<float>> descriptions = {};  // by point, if known
};

double fraction_of(const RecordedSpace& space, double time_ns) { return space.best_ns / time_ns; }

/// What a trial took: its compile, and its samples or what the device says it worked.
double cost_s(const TrialRecord& trial) {
  double ms = trial.compile.compile_ms;
  if (trial.outcome.device_ms > 0) return (ms + trial.outcome.device_ms) / 1e3;
  if (trial.outcome.timing) {
    for (const double sample_ns : trial.outcome.timing->samples_ns) ms += sample_ns / 1e6;
  }
  return ms / 1e3;
}

/// What was given up was slower than the fastest before it in the recorded sweep, not in the one
/// replayed: the median of its few samples stands for its time.
Observation observed(const TrialRecord& trial) {
  if (trial.outcome.status != Status::correct || !trial.outcome.timing) {
    return {0, Observation::Is::failed, 0};
  }
  return {0, Observation::Is::timed, trial.outcome.timing->median_ns};
}

/// `features` is null where the kernel is unknown.
RecordedSpace space_of(const std::string& name, const std::vector<const TrialRecord*>& trials,
                       Features* features) {
  std::vector<std::vector<Value>> values(trials.front()->config.size());
  for (const TrialRecord* trial : trials) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i].push_back(trial->config[i].second);
  }
  std::vector<int> num_values;
  for (std::vector<Value>& each : values) {
    std::sort(each.begin(), each.end());
    each.erase(std::unique(each.begin(), each.end()), each.end());
    num_values.push_back(static_cast<int>(each.size()));
  }
  std::map<std::vector<int>, const TrialRecord*> by_point;
  for (const TrialRecord* trial : trials) {
    std::vector<int> point;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto at = std::lower_bound(values[i].begin(), values[i].end(), trial->config[i].second);
      point.push_back(static_cast<int>(at - values[i].begin()));
    }
    by_point[point] = trial;
  }
  RecordedSpace space{name, Points(num_values)};
  for (const auto& [point, trial] : by_point) {
    Observation result = observed(*trial);
    result.index = space.points.size();
    space.points.add(point);
    space.results.push_back(result);
    space.cost_s.push_back(cost_s(*trial));
    if (features) features->append(trial->config, space.descriptions.emplace_back());
    if (result.is == Observation::Is::timed) {
      space.best_ns = std::min(space.best_ns, result.time_ns);
    }
  }
  return space;
}

std::vector<RecordedSpace> read_spaces(const std::string& path, std::size_t min_trials,
                                       const std::string& kernels) {
  const Recording recording = read_recording(path);
  std::map<std::string, std::vector<const TrialRecord*>> by_name;
  for (const TrialRecord& trial : recording.trials) {
    const std::string name =
        is_tuner_file(path) ? recording.sweep : trial.kernel.name + " " + to_text(trial.problem);
    by_name[name].push_back(&trial);
  }
  std::vector<RecordedSpace> spaces;
  for (const auto& [name, trials] : by_name) {
    if (trials.size() < min_trials) continue;
    if (kernels.empty()) {
      spaces.push_back(space_of(name, trials, nullptr));
    } else {
      const TrialRecord& trial = *trials.front();
      const KernelSpec kernel = load_kernel(kernels + "/" + trial.kernel.name + ".yaml");
      Features features(kernel, trial.problem, recording.device);
      spaces.push_back(space_of(name, trials, &features));
    }
  }
  return spaces;
}

/// One search: after each evaluation, the seconds that it took so far, those that went into
/// proposals, and the best found.
struct Run {
  std::vector<double> seconds;
  std::vector<double> proposing_s;
  std::vector<double> fraction;
};

Run replay(const RecordedSpace& space, SearchSpec search, std::size_t evaluations,
           std::size_t batch) {
  Run run;
  std::vector<Observation> history;
  double seconds = 0, proposing_s = 0, fraction = 0;
  while (history.size() < evaluations) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<std::size_t> proposed = propose(search, space.points, history, batch);
    proposing_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (proposed.empty()) break;
    for (const std::size_t index : proposed) {
      const Observation& result = space.results[index];
      history.push_back(result);
      seconds += space.cost_s[index];
      if (result.is == Observation::Is::timed) {
        fraction = std::max(fraction, fraction_of(space, result.time_ns));
      }
      run.seconds.push_back(seconds);
      run.proposing_s.push_back(proposing_s);
      run.fraction.push_back(fraction);
    }
  }
  return run;
}

double percentile(std::vector<double> values, double ratio) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(ratio * static_cast<double>(values.size() - 1))];
}

const std::map<std::string, Strategy> kStrategies = {
    {"random", Strategy::random},
    {"model", Strategy::model},
    {"auto", Strategy::automatic},
};

struct Options {
  int seeds = 100;
  std::size_t batch = 8, min_trials = 100;
  double until_ratio = 0;
  std::vector<std::string> strategies, files;
  std::string kernels;
};

/// What a proposal costs after 200 results in a space of 100,000 points and 17 parameters.
void print_costs(const Options& options) {
  RecordedSpace space{"large", Points(std::vector<int>(17, 2))};
  for (int i = 0; i < 100'000; ++i) {
    std::vector<int> point(17);
    for (std::size_t bit = 0; bit < 17; ++bit) point[bit] = i >> (16 - bit) & 1;
    space.points.add(point);
    const double time_ns = 1e3 + i % 257 + 500 * point[3];
    space.results.push_back({static_cast<std::size_t>(i), Observation::Is::timed, time_ns});
    space.cost_s.push_back(0);
  }
  space.best_ns = 1e3;
  for (const std::string& name : options.strategies) {
    SearchSpec search;
    search.strategy = kStrategies.at(name);
    search.budget_seconds = 1e9;
    // Of one run: the difference of two is at the mercy of what else the machine does.
    const std::vector<double> proposing_s = replay(space, search, 300, options.batch).proposing_s;
    fmt::print("{}: {:.2f} ms a proposal at {} points, from the 200th to the 300th, {} at a time\n",
               name, 1e3 * (proposing_s[299] - proposing_s[199]) / 100, space.points.size(),
               options.batch);
  }
}

std::string cell(const std::vector<double>& found) {
  return fmt::format("{:.3f} ({:.3f})", percentile(found, 0.5), percentile(found, 0.1));
}

/// Asks for the estimate as a sweep does: see Screening.
void bench_until(const RecordedSpace& space, const Options& options, SearchSpec search) {
  std::vector<double> evaluations;
  int num_ended = 0, num_right = 0;
  for (int seed = 1; seed <= options.seeds; ++seed) {
    search.seed = static_cast<std::uint64_t>(seed);
    std::vector<Observation> history;
    double fraction = 0;
    for (std::size_t next = 0;;) {
      if (history.size() >= next) {
        next = history.size() + std::max<std::size_t>(5, history.size() / 10);
        const std::optional<double> gain_ratio = gain_left(search, space.points, history);
        if (gain_ratio && *gain_ratio <= options.until_ratio) break;
      }
      const auto proposed = propose(search, space.points, history, options.batch);
      if (proposed.empty()) break;
      for (const std::size_t index : proposed) {
        history.push_back(space.results[index]);
        if (history.back().is != Observation::Is::timed) continue;
        fraction = std::max(fraction, fraction_of(space, history.back().time_ns));
      }
    }
    num_ended += history.size() < space.points.size();
    num_right += 1 / fraction - 1 <= options.until_ratio;
    evaluations.push_back(static_cast<double>(history.size()));
  }
  fmt::print(
      "{:<10} ended before all were tried in {} of {}, after {:.0f} (worst tenth {:.0f}); no "
      "more than {:.1f} % was to gain in {}\n",
      "", num_ended, options.seeds, percentile(evaluations, 0.5), percentile(evaluations, 0.9),
      options.until_ratio * 100, num_right);
}

void bench(const RecordedSpace& space, const Options& options) {
  constexpr std::size_t kEvaluations[] = {25, 50, 100, 200};
  std::size_t failed = 0;
  double total_s = 0;
  for (std::size_t i = 0; i < space.points.size(); ++i) {
    failed += space.results[i].is == Observation::Is::failed;
    total_s += space.cost_s[i];
  }
  const double mean_s = total_s / static_cast<double>(space.points.size());
  fmt::print("{}: {} points, {} of them failed\n{:<10}", space.name, space.points.size(), failed,
             "");
  for (const std::size_t each : kEvaluations) fmt::print(" {:>14}", fmt::format("{} evals", each));
  for (const std::size_t each : kEvaluations) {
    fmt::print(" {:>14}", fmt::format("{:.0f} s", mean_s * static_cast<double>(each)));
  }
  fmt::print(" {:>12}\n", "ms/proposal");
  for (const std::string& name : options.strategies) {
    std::vector<std::vector<double>> by_evals(4), by_time(4);
    double proposing_s = 0, proposals = 0;
    for (int seed = 1; seed <= options.seeds; ++seed) {
      SearchSpec search;
      search.strategy = kStrategies.at(name);
      search.seed = static_cast<std::uint64_t>(seed);
      search.budget_seconds = 1e9;
      const Run run = replay(space, search, kEvaluations[3] * 5 / 4, options.batch);
      proposing_s += run.proposing_s.back();
      proposals += static_cast<double>(run.fraction.size());
      for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t last = std::min(kEvaluations[i], run.fraction.size()) - 1;
        by_evals[i].push_back(run.fraction[last]);
        const double limit_s = mean_s * static_cast<double>(kEvaluations[i]);
        const auto end = std::upper_bound(run.seconds.begin(), run.seconds.end(), limit_s);
        const auto within = static_cast<std::size_t>(end - run.seconds.begin());
        by_time[i].push_back(within == 0 ? 0 : run.fraction[within - 1]);
      }
    }
    fmt::print("{:<10}", name);
    for (const auto& found : by_evals) fmt::print(" {:>14}", cell(found));
    for (const auto& found : by_time) fmt::print(" {:>14}", cell(found));
    fmt::print(" {:>12.3f}\n", 1e3 * proposing_s / proposals);
    if (options.until_ratio > 0) {
      SearchSpec search;
      search.strategy = kStrategies.at(name);
      search.budget_seconds = 1e9;
      bench_until(space, options, search);
    }
    std::fflush(stdout);
  }
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app(kAbout);
  app.add_option("--seeds", options.seeds, "how many searches of each strategy");
  app.add_option("--batch", options.batch, "how many configurations are proposed at a time");
  app.add_option("--strategy", options.strategies, "random and model, unless named")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(kStrategies));
  app.add_option("--min-trials", options.min_trials, "leaves out smaller spaces");
  app.add_option(
      "--until", options.until_ratio,
      "says when a strategy ends by its estimate of what is still to gain, and how often "
      "no more than this was left to gain");
  app.add_option("--kernels", options.kernels,
                 "the search sees what the `let` of FOLDER/KERNEL.yaml say, as in a sweep");
  app.add_option("FILE", options.files, "recordings");
  CLI11_PARSE(app, argc, argv);
  if (options.strategies.empty()) options.strategies = {"random", "model"};
  for (const std::string& file : options.files) {
    for (RecordedSpace& space : read_spaces(file, options.min_trials, options.kernels)) {
      if (!space.descriptions.empty()) {
        space.points.describe_by([&](std::size_t index) { return space.descriptions[index]; });
      }
      bench(space, options);
    }
  }
  print_costs(options);
  return 0;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  try {
    return assay::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
