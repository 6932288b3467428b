// How often the comparison of runs and the search for steps in a history raise false alarms, and
// how soon they find what has changed, on results with the noise of real machines. Prints each
// figure with its bar; the bars of detection are shares of the cases. Argument: how many suites of
// 500 series (100).
//
// The noise, of one GPU shared with others (clocks, spread and neighbours as on an H200):
//   heavy tail      a lognormal 1 %, and 3 % of the samples late by up to several times the time
//   two clocks      a run holds 1980 or 1755 MHz; one series in five switches to and fro in the run
//   drift           up to 3 % over the rounds of a run, and up to 2 % over the runs of a history
//   shared machine  one result in ten has a neighbour, who takes 2 to 15 % for a part of the rounds
//   processes       each entry has a place in memory, which moves its time by 0.2 %
// A kernel and its baseline are alike in how they follow clock and neighbours, but not the same.
// One series in five has no baseline, one in five the same machine code in both runs.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "ranking/comparison.h"
#include "ranking/steps.h"

namespace assay {
namespace {

constexpr int kSeries = 500;
constexpr int kRounds = 60;  // of a re-rank; it takes 30 to 1000
constexpr double kMargin = 0.02;
constexpr double kLeastStep = 0.01;

using Random = std::mt19937_64;

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}
double normal(Random& random, double deviation) {
  return std::normal_distribution<double>(0, deviation)(random);
}
bool chance(Random& random, double p) { return uniform(random, 0, 1) < p; }

/// What stays the same from run to run.
struct Kernel {
  double time_ns;
  double follows_clock;           // 1: time is cycles; 0: the clock does not matter
  double baseline_follows_clock;  // of the baseline
  bool has_baseline;
  bool identical;
  bool switches;  // between two clocks in a run
};

Kernel draw_kernel(Random& random) {
  const double follows = uniform(random, 0, 1);
  return {std::exp(uniform(random, std::log(5e3), std::log(2e6))),
          follows,
          std::clamp(follows + uniform(random, -0.1, 0.1), 0.0, 1.0),
          chance(random, 0.8),
          chance(random, 0.2),
          chance(random, 0.2)};
}

double late(Random& random) {
  double log_time = normal(random, 0.01);
  if (chance(random, 0.03)) log_time += 0.05 / std::sqrt(uniform(random, 0.002, 1));
  return log_time;
}

Rounds draw_run(Random& random, const Kernel& kernel, double drift_between_runs) {
  constexpr double kClocks[] = {1980, 1755};
  bool low = chance(random, 0.3);
  const double drift = uniform(random, -0.03, 0.03) + drift_between_runs;
  const double place = normal(random, 0.002);
  const double baseline_place = normal(random, 0.002);
  const bool neighbour = chance(random, 0.1);
  const double taken = neighbour ? uniform(random, 0.02, 0.15) : 0;
  const double baseline_taken = taken * uniform(random, 0.85, 1.15);
  const int begins = static_cast<int>(uniform(random, -kRounds, kRounds));
  Rounds rounds;
  for (int round = 0; round < kRounds; ++round) {
    if (kernel.switches && chance(random, 0.1)) low = !low;
    const double clock_mhz = kClocks[low ? 1 : 0] * std::exp(normal(random, 0.002));
    const double slower = std::log(kClocks[0] / clock_mhz);
    const bool beside = round >= begins && round < begins + kRounds;
    const double common = drift * round / kRounds;
    const double log_time = kernel.follows_clock * slower + common + place + (beside ? taken : 0);
    const double log_baseline = kernel.baseline_follows_clock * slower + common + baseline_place +
                                (beside ? baseline_taken : 0);
    const auto tick = [](double ns) { return std::round(ns / 32) * 32; };  // of an H200's events
    rounds.times_ns.push_back(tick(kernel.time_ns * std::exp(log_time + late(random))));
    rounds.clocks_mhz.push_back(clock_mhz);
    if (kernel.has_baseline) {
      rounds.yardstick_ns.push_back(
          tick(1.2 * kernel.time_ns * std::exp(log_baseline + late(random))));
    }
  }
  return rounds;
}

void make_slower(Rounds& rounds, double ratio) {
  for (double& ns : rounds.times_ns) ns *= ratio;
}

struct Alarms {
  int suites = 0;
  int alarms = 0;
};

Alarms compare_without_change(int num_suites) {
  Alarms alarms;
  for (int suite = 0; suite < num_suites; ++suite) {
    Random random(static_cast<std::uint64_t>(suite));
    std::vector<Contest> contests;
    for (int i = 0; i < kSeries; ++i) {
      const Kernel kernel = draw_kernel(random);
      contests.push_back(
          {draw_run(random, kernel, 0), draw_run(random, kernel, 0), kernel.identical});
    }
    const auto compared = compare_suite(contests, {}, kMargin).judgements;
    const auto found = std::count_if(compared.begin(), compared.end(), [](const Judgement& one) {
      return one.fate == Fate::slower || one.fate == Fate::faster;
    });
    alarms.alarms += static_cast<int>(found);
    alarms.suites += found > 0 ? 1 : 0;
  }
  return alarms;
}

struct Outcomes {
  int cases = 0;
  int found = 0;
  int called_same = 0;
  double share() const { return static_cast<double>(found) / cases; }
};

/// One result in fifty of each suite became slower.
Outcomes compare_with_change(int num_suites, double step_ratio, bool with_baseline) {
  Outcomes outcomes;
  for (int suite = 0; suite < num_suites; ++suite) {
    Random random(static_cast<std::uint64_t>(suite) + 10'000);
    std::vector<Contest> contests;
    for (int i = 0; i < kSeries; ++i) {
      Kernel kernel = draw_kernel(random);
      const bool changed = i % 50 == 0;
      if (changed) kernel.identical = false;
      if (changed) kernel.has_baseline = with_baseline;
      contests.push_back(
          {draw_run(random, kernel, 0), draw_run(random, kernel, 0), kernel.identical});
      if (changed) make_slower(contests.back().after, step_ratio);
    }
    const auto compared = compare_suite(contests, {}, kMargin).judgements;
    for (int i = 0; i < kSeries; i += 50) {
      const Fate fate = compared[static_cast<std::size_t>(i)].fate;
      ++outcomes.cases;
      outcomes.found += fate == Fate::slower ? 1 : 0;
      outcomes.called_same += fate == Fate::same ? 1 : 0;
    }
  }
  return outcomes;
}

/// The runs of one result as its history has them; from `step_at` on it is slower.
History draw_history(Random& random, const Kernel& kernel, int num_runs, int step_at,
                     double step_ratio, double creep_ratio = 1) {
  const double drift = uniform(random, -0.02, 0.02);
  History history;
  for (int run = 0; run < num_runs; ++run) {
    Rounds rounds = draw_run(random, kernel, drift * run / num_runs);
    if (run >= step_at) make_slower(rounds, step_ratio);
    make_slower(rounds, std::pow(creep_ratio, run / 6));
    if (kernel.has_baseline) {
      history.values.push_back(level_of(log_yardsticks(rounds))->log_value);
    } else {
      history.values.push_back(level_of(log_times(rounds))->log_value);
      history.checks.push_back(level_of(log_cycles(rounds))->log_value);
    }
  }
  return history;
}

Alarms history_without_change(int num_suites) {
  Alarms alarms;
  for (int suite = 0; suite < num_suites; ++suite) {
    Random random(static_cast<std::uint64_t>(suite) + 20'000);
    std::vector<History> histories;
    for (int i = 0; i < kSeries; ++i) {
      histories.push_back(draw_history(random, draw_kernel(random), 30, 30, 1));
    }
    const std::vector<Step> steps = find_steps(histories, kLeastStep);
    const auto found = std::count_if(steps.begin(), steps.end(), [](const Step& step) {
      return step.kind != StepKind::pending;
    });
    alarms.alarms += static_cast<int>(found);
    alarms.suites += found > 0 ? 1 : 0;
  }
  return alarms;
}

/// One result in fifty became slower `num_after` runs ago, or goes on becoming so.
Outcomes history_with_change(int num_suites, double step_ratio, int num_after, bool with_baseline,
                             double creep_ratio = 1) {
  constexpr int kBefore = 20;
  Outcomes outcomes;
  for (int suite = 0; suite < num_suites; ++suite) {
    Random random(static_cast<std::uint64_t>(suite) + 30'000);
    std::vector<History> histories;
    for (int i = 0; i < kSeries; ++i) {
      Kernel kernel = draw_kernel(random);
      const bool changed = i % 50 == 0;
      if (changed) kernel.has_baseline = with_baseline;
      histories.push_back(draw_history(random, kernel, kBefore + num_after, kBefore,
                                       changed ? step_ratio : 1, changed ? creep_ratio : 1));
    }
    const std::vector<Step> steps = find_steps(histories, kLeastStep);
    for (std::size_t i = 0; i < kSeries; i += 50) {
      ++outcomes.cases;
      outcomes.found += std::any_of(steps.begin(), steps.end(), [i](const Step& step) {
        return step.series == i && step.kind != StepKind::pending && step.ratio.value > 1;
      });
    }
  }
  return outcomes;
}

void print_alarms(const char* what, const Alarms& alarms, int num_suites) {
  fmt::print("{:<64} {:>3} of {} suites ({} alarms in {} series), bar 1 in 100\n", what,
             alarms.suites, num_suites, alarms.alarms, num_suites * kSeries);
}

void print_share(const char* what, const Outcomes& outcomes, const char* bar) {
  fmt::print("{:<64} {:>5.1f} % of {}, {}\n", what, outcomes.share() * 100, outcomes.cases, bar);
}

void run(int num_suites) {
  print_alarms("two runs, nothing changed: false alarms", compare_without_change(num_suites),
               num_suites);
  print_alarms("30 runs, nothing changed: false alarms", history_without_change(num_suites),
               num_suites);
  const int few = std::max(1, num_suites / 5);
  print_share("history: 5 % slower, found after 3 runs", history_with_change(few, 1.05, 3, true),
              "bar 95 %");
  print_share("history: 2 % slower, found after 10 runs", history_with_change(few, 1.02, 10, true),
              "bar 95 %");
  print_share("history: four times 1 % slower in 30 runs, found",
              history_with_change(few, 1, 10, true, 1.01), "no bar");
  print_share("history without a baseline: 5 % slower, found after 3 runs",
              history_with_change(few, 1.05, 3, false), "no bar");
  print_share("two runs: 5 % slower, called so", compare_with_change(few, 1.05, true), "no bar");
  print_share("two runs: 8 % slower, called so", compare_with_change(few, 1.08, true), "no bar");
  const Outcomes missed = compare_with_change(few, 1.05, true);
  fmt::print("{:<64} {:>5.1f} % of {}, no bar\n", "two runs: 5 % slower, called the same",
             100.0 * missed.called_same / missed.cases, missed.cases);
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  const int num_suites = argc > 1 ? std::atoi(argv[1]) : 100;
  if (num_suites < 1) {
    fmt::print(stderr, "usage: false_alarm_bench [NUMBER_OF_SUITES]\n");
    return 2;
  }
  assay::run(num_suites);
}
