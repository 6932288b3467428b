#include "ranking/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <tuple>

#include "base/stats.h"

namespace assay {
namespace {

/// An entry while the verdict is being made.
struct Ranked : TimedEntry {
  double cost = 0;  // what the objective makes least
  bool baseline() const { return kernel.empty(); }
  bool passed() const { return failure.empty(); }
  bool in_all_rounds() const { return passed() && !eliminated; }
};

/// What is wrong with the samples themselves; empty when nothing is.
std::string sample_failure(const RankEntry& entry, std::size_t rounds) {
  const std::vector<double>& samples_ns = entry.samples_ns;
  if (samples_ns.empty()) return "it was never timed";
  for (std::size_t i = 0; i < samples_ns.size(); ++i) {
    if (!(samples_ns[i] > 0) || std::isinf(samples_ns[i])) {
      return fmt::format("the time of round {} is {} ns, no positive number", i + 1, samples_ns[i]);
    }
  }
  // Round r of one entry is paired with round r of another. An entry that stopped early would be
  // compared with samples at another clock and temperature.
  if (samples_ns.size() < rounds && !entry.eliminated) {
    return fmt::format("it was timed in {} of {} rounds", samples_ns.size(), rounds);
  }
  return "";
}

/// A total order, so that the verdict does not depend on the order of the entries. Those that
/// passed come before those that failed, those that stayed before those that dropped out, low cost
/// before high, configurations before baselines; then by text.
bool ranks_before(const Ranked& a, const Ranked& b) {
  const auto key = [](const Ranked& r) {
    return std::tuple(!r.passed(), r.passed() && r.eliminated, r.passed() ? r.cost : 0,
                      r.baseline(), std::tie(r.kernel, r.config));
  };
  return key(a) < key(b);
}

bool wins_tie(const Ranked& a, const Ranked& b) {
  const auto key = [](const Ranked& r) {
    const TieBreak& tie = r.tie_break;
    return std::tie(tie.spill_bytes, tie.registers, tie.smem_bytes, r.config, r.kernel);
  };
  return key(a) < key(b);
}

std::vector<Ranked> line_up(std::vector<TimedEntry> entries, Objective objective) {
  std::size_t rounds = 0;
  for (const TimedEntry& entry : entries) {
    if (entry.failure.empty()) rounds = std::max(rounds, entry.samples_ns.size());
  }
  std::vector<Ranked> all;
  for (TimedEntry& entry : entries) {
    Ranked& ranked = all.emplace_back(Ranked{std::move(entry)});
    const std::string bad_samples = sample_failure(ranked, rounds);
    if (bad_samples.empty()) ranked.median_ns = median(ranked.samples_ns);
    if (ranked.failure.empty()) ranked.failure = bad_samples;
    if (ranked.passed()) ranked.cost = cost_of(ranked, objective);
  }
  std::sort(all.begin(), all.end(), ranks_before);
  return all;
}

/// The first, and so the best, that passed and took part in all rounds. `baseline` says which kind.
Ranked* best_of(std::vector<Ranked>& all, bool baseline) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Ranked& ranked) {
    return ranked.in_all_rounds() && ranked.baseline() == baseline;
  });
  return found == all.end() ? nullptr : &*found;
}

const Ranked* fastest_baseline(const std::vector<Ranked>& all) {
  const Ranked* best = nullptr;
  for (const Ranked& ranked : all) {
    if (!ranked.in_all_rounds() || !ranked.baseline()) continue;
    if (!best || midmean(ranked.samples_ns) < midmean(best->samples_ns)) {
      best = &ranked;
    }
  }
  return best;
}

/// The paired ratio over the rounds that both took part in.
Interval ratio(const std::vector<double>& numerator, const std::vector<double>& denominator) {
  const std::size_t rounds = std::min(numerator.size(), denominator.size());
  return paired_ratio(std::span(numerator).first(rounds), std::span(denominator).first(rounds));
}

Interval time_ratio(const Ranked& numerator, const Ranked& denominator) {
  if (&numerator == &denominator) return {1, 1, 1};
  return ratio(numerator.samples_ns, denominator.samples_ns);
}

/// The SM cycles of each sample; nothing if the clock of any sample is not known.
std::vector<double> cycles(const RankEntry& entry) {
  std::vector<double> cycles;
  for (std::size_t i = 0; i < entry.clocks_mhz.size(); ++i) {
    if (entry.clocks_mhz[i] <= 0 || i >= entry.samples_ns.size()) return {};
    cycles.push_back(entry.samples_ns[i] * entry.clocks_mhz[i] * 1e-3);
  }
  return cycles.size() == entry.samples_ns.size() ? cycles : std::vector<double>();
}

Interval cycles_ratio(const Ranked& numerator, const Ranked& denominator) {
  const std::vector<double> above = cycles(numerator);
  const std::vector<double> below = cycles(denominator);
  if (above.empty() || below.empty()) return {};
  if (&numerator == &denominator) return {1, 1, 1};
  return ratio(above, below);
}

/// How far `ranked` is behind the reference, as a ratio of costs.
Interval distance(const Ranked& ranked, const Ranked& reference, Objective objective) {
  if (objective == Objective::time) return time_ratio(ranked, reference);
  const double ratio = ranked.cost / reference.cost;
  return {ratio, ratio, ratio};
}

/// Marks the tied and returns the winner; null when no configuration passed.
Ranked* choose_winner(std::vector<Ranked>& all, double noise_ratio, Objective objective) {
  const Ranked* reference = best_of(all, false);
  const double margin =
      objective == Objective::time ? std::max(noise_ratio, kLeastTimeMargin) : kLeastEnergyMargin;
  Ranked* winner = nullptr;
  for (Ranked& ranked : all) {
    if (!ranked.in_all_rounds() || ranked.baseline()) continue;
    const Interval behind = distance(ranked, *reference, objective);
    ranked.tied = behind.low <= 1 || behind.value <= 1 + margin;
    if (behind.value > 1 + margin / 4) continue;
    if (!winner || wins_tie(ranked, *winner)) winner = &ranked;
  }
  if (winner) winner->winner = true;
  return winner;
}

}  // namespace

std::vector<RankEntry> rank_entries(std::vector<TimedEntry> entries, double noise_ratio,
                                    Objective objective) {
  std::vector<Ranked> all = line_up(std::move(entries), objective);
  const Ranked* winner = choose_winner(all, noise_ratio, objective);
  const Ranked* baseline = fastest_baseline(all);
  for (Ranked& ranked : all) {
    if (!ranked.passed()) continue;
    if (winner) ranked.ratio_to_best = time_ratio(ranked, *winner);
    if (winner) ranked.cycles_ratio_to_best = cycles_ratio(ranked, *winner);
    if (baseline) ranked.speedup_over_baseline = time_ratio(*baseline, ranked);
  }
  return {std::make_move_iterator(all.begin()), std::make_move_iterator(all.end())};
}

double cost_of(const RankEntry& entry, Objective objective) {
  switch (objective) {
    case Objective::time:
      break;
    case Objective::energy:
      return entry.energy_j;
    case Objective::edp:
      return entry.energy_j * entry.median_ns;
  }
  return entry.samples_ns.empty() ? 0 : midmean(entry.samples_ns);
}

}  // namespace assay
