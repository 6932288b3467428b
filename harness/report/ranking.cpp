#include "report/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/stats.h"

namespace assay {
namespace {

/// An entrant on its way to a verdict.
struct Runner {
  Entrant entrant;
  RankEntry entry;
  bool baseline() const { return entrant.kernel.empty(); }
  bool passed() const { return entry.failure.empty(); }
};

/// What is wrong with the samples themselves; empty when nothing is.
std::string sample_failure(const std::vector<double>& samples_ns, std::size_t rounds) {
  if (samples_ns.empty()) return "it was never timed";
  for (std::size_t i = 0; i < samples_ns.size(); ++i) {
    if (!(samples_ns[i] > 0) || std::isinf(samples_ns[i])) {
      return fmt::format("the time of round {} is {} ns, no positive number", i + 1, samples_ns[i]);
    }
  }
  // Round r of one entrant is paired with round r of another: one that stopped early would be
  // compared at another clock and temperature.
  if (samples_ns.size() < rounds) {
    return fmt::format("it was timed in {} of {} rounds", samples_ns.size(), rounds);
  }
  return "";
}

/// A total order, so that the verdict does not depend on the order of the entrants: passed before
/// failed, fast before slow, configurations before baselines, then by text.
bool ranks_before(const Runner& a, const Runner& b) {
  const auto key = [](const Runner& r) {
    return std::tuple(!r.passed(), r.passed() ? r.entry.median_ns : 0, r.baseline(),
                      std::tie(r.entrant.kernel, r.entrant.config));
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

bool is_tie(const Interval& ratio, double noise_ratio) {
  return (ratio.low <= 1 && 1 <= ratio.high) || ratio.value <= 1 + noise_ratio;
}

std::vector<Runner> line_up(std::vector<Entrant> entrants) {
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
    const std::string bad_samples = sample_failure(entrant.samples_ns, rounds);
    runner.entry.failure = entrant.failure.empty() ? bad_samples : entrant.failure;
    if (bad_samples.empty()) runner.entry.median_ns = median(entrant.samples_ns);
    runner.entrant = std::move(entrant);
    runners.push_back(std::move(runner));
  }
  std::sort(runners.begin(), runners.end(), ranks_before);
  return runners;
}

/// The first, and so the fastest, that passed and is or is not a baseline.
Runner* fastest(std::vector<Runner>& runners, bool baseline) {
  const auto found = std::find_if(runners.begin(), runners.end(), [&](const Runner& runner) {
    return runner.passed() && runner.baseline() == baseline;
  });
  return found == runners.end() ? nullptr : &*found;
}

Interval ratio(const Runner& numerator, const Runner& denominator) {
  if (&numerator == &denominator) return {1, 1, 1};
  return paired_ratio(numerator.entrant.samples_ns, denominator.entrant.samples_ns);
}

/// Marks the tied and returns the winner; null when no configuration passed.
Runner* choose_winner(std::vector<Runner>& runners, double noise_ratio) {
  const Runner* reference = fastest(runners, false);
  Runner* winner = nullptr;
  for (Runner& runner : runners) {
    if (!runner.passed() || runner.baseline()) continue;
    runner.entry.tied = is_tie(ratio(runner, *reference), noise_ratio);
    if (runner.entry.tied && (!winner || wins_tie(runner, *winner))) winner = &runner;
  }
  if (winner) winner->entry.winner = true;
  return winner;
}

}  // namespace

std::vector<RankEntry> rank_entrants(std::vector<Entrant> entrants, double noise_ratio, Objective) {
  std::vector<Runner> runners = line_up(std::move(entrants));
  const Runner* winner = choose_winner(runners, noise_ratio);
  const Runner* baseline = fastest(runners, true);
  std::vector<RankEntry> entries;
  for (Runner& runner : runners) {
    if (runner.passed()) {
      if (winner) runner.entry.ratio_to_best = ratio(runner, *winner);
      if (baseline) runner.entry.speedup_over_baseline = ratio(*baseline, runner);
    }
    entries.push_back(std::move(runner.entry));
  }
  return entries;
}

}  // namespace assay
