#include "ranking/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <tuple>

#include "base/counters.h"
#include "base/stats.h"

namespace assay {
namespace {

/// What one objective makes least, of one entry.
struct Cost {
  std::vector<double> rounds;  // in each round; nothing if it does not read the time
  double typical = std::numeric_limits<double>::infinity();
  double margin = 0;  // the least ratio of costs, less 1, that is called a difference
};

/// An entry while the verdict is being made.
struct Ranked : RankEntry {
  std::vector<Cost> costs;  // by each objective
  double cost() const { return costs.front().typical; }
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
    return std::tuple(!r.passed(), r.passed() && r.eliminated, r.passed() ? r.cost() : 0,
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

/// By how much the cost changes if the time, the energy or a counter does, each by its own margin.
double margin_of(const std::string& part, const RankEntry& entry, double time_margin) {
  const double time_ns = median(entry.samples_ns);
  const auto cost_at = [&](double time_ratio, double energy_ratio, const NamedFigures& figures) {
    return Metric(part, figures).cost(time_ns * time_ratio, entry.energy_j * energy_ratio);
  };
  const double cost = cost_at(1, 1, entry.figures);
  double margin = 0;
  const auto look_at = [&](double less, double more) {
    for (const double ratio : {cost / less, more / cost, less / cost, cost / more}) {
      if (std::isfinite(ratio)) margin = std::max(margin, ratio - 1);
    }
  };
  const double time = 1 + time_margin, energy = 1 + kLeastEnergyMargin;
  look_at(cost_at(1 / time, 1, entry.figures), cost_at(time, 1, entry.figures));
  look_at(cost_at(1, 1 / energy, entry.figures), cost_at(1, energy, entry.figures));
  for (std::size_t i = 0; i < entry.figures.size(); ++i) {
    const double ratio = 1 + counter_margin(entry.figures[i].first);
    if (ratio == 1) continue;
    NamedFigures less = entry.figures, more = entry.figures;
    const double counted = to_real(entry.figures[i].second);
    less[i].second = counted / ratio;
    more[i].second = counted * ratio;
    look_at(cost_at(1, 1, less), cost_at(1, 1, more));
  }
  return margin;
}

/// Throws ExprError or EvalError where it has no answer.
Cost cost_by(const std::string& part, const RankEntry& entry, double time_margin) {
  if (part == to_text(Objective::time)) {
    return {entry.samples_ns, midmean(entry.samples_ns), time_margin};
  }
  const Metric metric(part, entry.figures);
  Cost cost;
  cost.margin = margin_of(part, entry, time_margin);
  if (metric.reads_time()) {
    for (const double sample_ns : entry.samples_ns) {
      cost.rounds.push_back(metric.cost(sample_ns, entry.energy_j));
    }
    cost.typical = midmean(cost.rounds);
  } else {
    cost.typical = metric.cost(0, entry.energy_j);
  }
  return cost;
}

/// By all objectives; or why there are none. A baseline, which has no figures, may have none.
void set_costs(Ranked& ranked, const std::vector<std::string>& parts, double time_margin) {
  ranked.costs.assign(parts.size(), {});
  if (!ranked.passed()) return;
  const auto fail = [&](const std::exception& error) {
    ranked.costs.assign(parts.size(), {});
    if (!ranked.baseline()) {
      ranked.failure = fmt::format("its objective has no answer: {}", error.what());
    }
  };
  try {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      ranked.costs[i] = cost_by(parts[i], ranked, time_margin);
    }
  } catch (const ExprError& error) {
    fail(error);
  } catch (const EvalError& error) {
    fail(error);
  }
}

std::vector<Ranked> line_up(std::vector<RankEntry> entries, double noise_ratio,
                            const Objective& objective) {
  std::size_t rounds = 0;
  for (const RankEntry& entry : entries) {
    if (entry.failure.empty()) rounds = std::max(rounds, entry.samples_ns.size());
  }
  const std::vector<std::string> parts = objective.parts();
  const double time_margin = std::max(noise_ratio, kLeastTimeMargin);
  std::vector<Ranked> all;
  for (RankEntry& entry : entries) {
    Ranked& ranked = all.emplace_back(Ranked{std::move(entry), {}});
    const std::string bad_samples = sample_failure(ranked, rounds);
    if (bad_samples.empty()) ranked.median_ns = median(ranked.samples_ns);
    if (ranked.failure.empty()) ranked.failure = bad_samples;
    set_costs(ranked, parts, time_margin);
  }
  std::ranges::sort(all, ranks_before);
  return all;
}

const Ranked* fastest_baseline(const std::vector<Ranked>& all) {
  const Ranked* best = nullptr;
  for (const Ranked& ranked : all) {
    if (!ranked.in_all_rounds() || !ranked.is_rival()) continue;
    if (!best || midmean(ranked.samples_ns) < midmean(best->samples_ns)) best = &ranked;
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

/// How far one is behind another, as a ratio of costs.
Interval distance(const Cost& cost, const Cost& other) {
  if (&cost == &other) return {1, 1, 1};
  const auto is_positive = [](double value) { return value > 0; };
  if (!cost.rounds.empty() && !other.rounds.empty() &&
      std::ranges::all_of(cost.rounds, is_positive) &&
      std::ranges::all_of(other.rounds, is_positive)) {
    return ratio(cost.rounds, other.rounds);
  }
  const double behind = cost.typical == other.typical ? 1 : cost.typical / other.typical;
  return {behind, behind, behind};
}

bool is_beyond_noise(const Interval& behind, double margin) {
  return behind.low > 1 && behind.value > 1 + margin;
}

/// Whether by an objective one is behind another beyond the noise.
bool is_behind(const Cost& cost, const Cost& other) {
  return cost.typical > other.typical && is_beyond_noise(distance(cost, other), cost.margin);
}

/// Whether by an objective `a` is ahead of `b` beyond the noise.
bool is_ahead(const Ranked& a, const Ranked& b) {
  for (std::size_t i = 0; i < a.costs.size(); ++i) {
    if (is_behind(b.costs[i], a.costs[i])) return true;
  }
  return false;
}

/// See pareto_front.
bool dominates(const Ranked& a, const Ranked& b) { return is_ahead(a, b) && !is_ahead(b, a); }

/// Of each, how many of the others dominate it.
std::vector<std::size_t> num_dominators(const std::vector<Ranked*>& all) {
  std::vector<std::size_t> counts;
  for (const Ranked* one : all) {
    counts.push_back(static_cast<std::size_t>(
        std::ranges::count_if(all, [&](const Ranked* other) { return dominates(*other, *one); })));
  }
  return counts;
}

/// Marks the tied and returns the winner; null when no configuration passed.
Ranked* choose_winner(std::vector<Ranked>& all) {
  const Ranked* reference = nullptr;  // the first, and so the best
  std::vector<Ranked*> near;
  for (Ranked& ranked : all) {
    if (!ranked.in_all_rounds() || ranked.baseline()) continue;
    if (reference == nullptr) reference = &ranked;
    const Interval behind = distance(ranked.costs.front(), reference->costs.front());
    const double margin = ranked.costs.front().margin;
    ranked.tied = !is_beyond_noise(behind, margin);
    if (behind.value <= 1 + margin / 4) near.push_back(&ranked);
  }
  if (near.empty()) return nullptr;
  const std::vector<std::size_t> dominators = num_dominators(near);
  const std::size_t fewest = *std::ranges::min_element(dominators);
  std::size_t next = 0;
  std::erase_if(near, [&](const Ranked*) { return dominators[next++] > fewest; });
  Ranked* const winner = *std::ranges::min_element(
      near, [](const Ranked* a, const Ranked* b) { return wins_tie(*a, *b); });
  winner->winner = true;
  return winner;
}

}  // namespace

std::vector<RankEntry> rank_entries(std::vector<RankEntry> entries, double noise_ratio,
                                    const Objective& objective) {
  std::vector<Ranked> all = line_up(std::move(entries), noise_ratio, objective);
  const Ranked* winner = noise_ratio > kMostNoise ? nullptr : choose_winner(all);
  const Ranked* baseline = fastest_baseline(all);
  for (Ranked& ranked : all) {
    if (!ranked.passed()) continue;
    if (winner) ranked.ratio_to_best = time_ratio(ranked, *winner);
    if (winner) ranked.cycles_ratio_to_best = cycles_ratio(ranked, *winner);
    if (baseline) ranked.speedup_over_baseline = time_ratio(*baseline, ranked);
  }
  return {std::make_move_iterator(all.begin()), std::make_move_iterator(all.end())};
}

double cost_of(const RankEntry& entry, const Objective& objective) {
  if (entry.samples_ns.empty()) return 0;
  try {
    return cost_by(objective.parts().front(), entry, 0).typical;
  } catch (const ExprError&) {
  } catch (const EvalError&) {
  }
  return std::numeric_limits<double>::infinity();
}

std::vector<FrontEntry> pareto_front(const RankRecord& rank) {
  const std::vector<std::string> parts = rank.objective.parts();
  std::vector<RankEntry> entries = rank.entries;
  std::erase_if(entries, [](const RankEntry& entry) { return entry.kernel.empty(); });
  std::vector<Ranked> all =
      line_up(std::move(entries), rank.noise ? rank.noise->margin_ratio() : 0, rank.objective);
  std::vector<Ranked*> left, listed;
  for (Ranked& ranked : all) {
    if (ranked.in_all_rounds()) (ranked.winner ? listed : left).push_back(&ranked);
  }
  std::vector<FrontEntry> front;
  if (listed.empty()) return front;
  const Ranked* const winner = listed.front();
  // Ties are not transitive: one that dominates another may be dominated itself, by a third that
  // does not. So those that the fewest dominate are taken first.
  for (const Ranked* last = winner;; last = listed.back()) {
    // Neither what is dominated nor what is as good by all objectives.
    std::erase_if(left, [&](const Ranked* one) { return !is_ahead(*one, *last); });
    if (left.empty()) break;
    const std::vector<std::size_t> dominators = num_dominators(left);
    const auto first = std::ranges::min_element(dominators);
    const auto next = left.begin() + (first - dominators.begin());
    listed.push_back(*next);
    left.erase(next);
  }
  std::sort(listed.begin() + 1, listed.end(),
            [](const Ranked* a, const Ranked* b) { return ranks_before(*a, *b); });
  for (const Ranked* ranked : listed) {
    FrontEntry& one = front.emplace_back();
    one.entry = find_entry(rank.entries, ranked->kernel, ranked->config);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Metric metric(parts[i], ranked->figures);
      std::vector<double> values;
      for (const double sample_ns : ranked->samples_ns) {
        values.push_back(metric.value(sample_ns, ranked->energy_j));
      }
      Interval value = median_interval(values);
      if (!metric.reads_time()) value.low = value.high = value.value;
      Interval ratio = distance(ranked->costs[i], winner->costs[i]);
      if (metric.greatest()) ratio = {1 / ratio.value, 1 / ratio.high, 1 / ratio.low};
      one.achieved.push_back({parts[i], value, ratio});
    }
  }
  return front;
}

}  // namespace assay
