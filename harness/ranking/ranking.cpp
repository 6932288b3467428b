#include "ranking/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>

#include "base/stats.h"

namespace assay {
namespace {

/// An entrant on its way to a verdict.
struct Runner {
  Entrant entrant;
  RankEntry entry;
  double cost = 0;  // what the objective makes least
  bool baseline() const { return entrant.kernel.empty(); }
  bool passed() const { return entry.failure.empty(); }
  bool in_all_rounds() const { return passed() && !entrant.eliminated; }
};

/// What is wrong with the samples themselves; empty when nothing is.
std::string sample_failure(const Entrant& entrant, std::size_t rounds) {
  const std::vector<double>& samples_ns = entrant.samples_ns;
  if (samples_ns.empty()) return "it was never timed";
  for (std::size_t i = 0; i < samples_ns.size(); ++i) {
    if (!(samples_ns[i] > 0) || std::isinf(samples_ns[i])) {
      return fmt::format("the time of round {} is {} ns, no positive number", i + 1, samples_ns[i]);
    }
  }
  // Round r of one entrant is paired with round r of another: one that stopped early would be
  // compared at another clock and temperature.
  if (samples_ns.size() < rounds && !entrant.eliminated) {
    return fmt::format("it was timed in {} of {} rounds", samples_ns.size(), rounds);
  }
  return "";
}

/// A total order, so that the verdict does not depend on the order of the entrants: passed before
/// failed, eliminated between, cheap before dear, configurations before baselines, then by text.
bool ranks_before(const Runner& a, const Runner& b) {
  const auto key = [](const Runner& r) {
    return std::tuple(!r.passed(), r.passed() && r.entrant.eliminated, r.passed() ? r.cost : 0,
                      r.baseline(), std::tie(r.entrant.kernel, r.entrant.config));
  };
  return key(a) < key(b);
}

bool wins_tie(const Runner& a, const Runner& b) {
  const auto key = [](const Runner& r) {
    const TieBreak& tie = r.entrant.tie_break;
    return std::tie(tie.spill_bytes, tie.registers, tie.smem_bytes, r.entrant.config,
                    r.entrant.kernel);
  };
  return key(a) < key(b);
}

double cost_of(const Runner& runner, Objective objective) {
  switch (objective) {
    case Objective::time:
      break;
    case Objective::energy:
      return runner.entrant.energy_j;
    case Objective::edp:
      return runner.entrant.energy_j * runner.entry.median_ns;
  }
  return midmean(runner.entrant.samples_ns);
}

std::vector<Runner> line_up(std::vector<Entrant> entrants, Objective objective) {
  std::size_t rounds = 0;
  for (const Entrant& entrant : entrants) {
    if (entrant.failure.empty()) rounds = std::max(rounds, entrant.samples_ns.size());
  }
  std::vector<Runner> runners;
  for (Entrant& entrant : entrants) {
    Runner runner;
    runner.entry.kernel = entrant.kernel;
    runner.entry.config = entrant.config;
    runner.entry.samples_ns = entrant.samples_ns;
    runner.entry.clocks_mhz = entrant.clocks_mhz;
    runner.entry.eliminated = entrant.eliminated;
    runner.entry.energy_j = entrant.energy_j;
    const std::string bad_samples = sample_failure(entrant, rounds);
    runner.entry.failure = entrant.failure.empty() ? bad_samples : entrant.failure;
    if (bad_samples.empty()) runner.entry.median_ns = median(entrant.samples_ns);
    runner.entrant = std::move(entrant);
    if (runner.passed()) runner.cost = cost_of(runner, objective);
    runners.push_back(std::move(runner));
  }
  std::sort(runners.begin(), runners.end(), ranks_before);
  return runners;
}

/// The first, and so the best, that passed all rounds and is or is not a baseline.
Runner* best_of(std::vector<Runner>& runners, bool baseline) {
  const auto found = std::find_if(runners.begin(), runners.end(), [&](const Runner& runner) {
    return runner.in_all_rounds() && runner.baseline() == baseline;
  });
  return found == runners.end() ? nullptr : &*found;
}

const Runner* fastest_baseline(const std::vector<Runner>& runners) {
  const Runner* best = nullptr;
  for (const Runner& runner : runners) {
    if (!runner.in_all_rounds() || !runner.baseline()) continue;
    if (!best || midmean(runner.entrant.samples_ns) < midmean(best->entrant.samples_ns)) {
      best = &runner;
    }
  }
  return best;
}

/// Over the rounds that both took part in.
Interval ratio(const std::vector<double>& numerator, const std::vector<double>& denominator) {
  const std::size_t rounds = std::min(numerator.size(), denominator.size());
  return paired_ratio(std::span(numerator).first(rounds), std::span(denominator).first(rounds));
}

Interval time_ratio(const Runner& numerator, const Runner& denominator) {
  if (&numerator == &denominator) return {1, 1, 1};
  return ratio(numerator.entrant.samples_ns, denominator.entrant.samples_ns);
}

/// The SM cycles of each sample; nothing when the clock of any is not known.
std::vector<double> cycles(const Entrant& entrant) {
  std::vector<double> cycles;
  for (std::size_t i = 0; i < entrant.clocks_mhz.size(); ++i) {
    if (entrant.clocks_mhz[i] <= 0 || i >= entrant.samples_ns.size()) return {};
    cycles.push_back(entrant.samples_ns[i] * entrant.clocks_mhz[i] * 1e-3);
  }
  return cycles.size() == entrant.samples_ns.size() ? cycles : std::vector<double>();
}

Interval cycles_ratio(const Runner& numerator, const Runner& denominator) {
  const std::vector<double> above = cycles(numerator.entrant);
  const std::vector<double> below = cycles(denominator.entrant);
  if (above.empty() || below.empty()) return {};
  if (&numerator == &denominator) return {1, 1, 1};
  return ratio(above, below);
}

/// How far `runner` is behind the reference, as a ratio of costs.
Interval distance(const Runner& runner, const Runner& reference, Objective objective) {
  if (objective == Objective::time) return time_ratio(runner, reference);
  const double ratio = runner.cost / reference.cost;
  return {ratio, ratio, ratio};
}

/// Marks the tied and returns the winner; null when no configuration passed.
Runner* choose_winner(std::vector<Runner>& runners, double noise_ratio, Objective objective) {
  const Runner* reference = best_of(runners, false);
  const double margin =
      objective == Objective::time ? std::max(noise_ratio, kLeastTimeMargin) : kLeastEnergyMargin;
  Runner* winner = nullptr;
  for (Runner& runner : runners) {
    if (!runner.in_all_rounds() || runner.baseline()) continue;
    const Interval behind = distance(runner, *reference, objective);
    runner.entry.tied = behind.low <= 1 || behind.value <= 1 + margin;
    if (behind.value > 1 + margin / 4) continue;
    if (!winner || wins_tie(runner, *winner)) winner = &runner;
  }
  if (winner) winner->entry.winner = true;
  return winner;
}

}  // namespace

std::vector<RankEntry> rank_entrants(std::vector<Entrant> entrants, double noise_ratio,
                                     Objective objective) {
  std::vector<Runner> runners = line_up(std::move(entrants), objective);
  const Runner* winner = choose_winner(runners, noise_ratio, objective);
  const Runner* baseline = fastest_baseline(runners);
  std::vector<RankEntry> entries;
  for (Runner& runner : runners) {
    if (runner.passed()) {
      if (winner) runner.entry.ratio_to_best = time_ratio(runner, *winner);
      if (winner) runner.entry.cycles_ratio_to_best = cycles_ratio(runner, *winner);
      if (baseline) runner.entry.speedup_over_baseline = time_ratio(*baseline, runner);
    }
    entries.push_back(std::move(runner.entry));
  }
  return entries;
}

}  // namespace assay
