#include "ranking/verdict.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/stats.h"
#include "ranking/ranking.h"

namespace assay {
namespace {

// A re-rank has at least so many entries, if there are as many correct configurations.
constexpr std::size_t kLeastRanked = 2;
// A re-rank starts with at most so many entries for each one that is timed at full length. The
// others drop out early, so they cost little.
constexpr std::size_t kMostForEachPlace = 4;
constexpr double kNearRatio = 1.06;
// The times of long work are better known, and each of its rounds takes long. Of 66 verdicts on
// work of 0.5 ms or more, on an H100 and an H200, none has a winner that was screened as more than
// 0.4 % slower than the fastest, nor a tie at more than 1.6 %; of shorter work a tie was 3 %
// slower.
constexpr double kLongWorkNs = 0.5e6, kNearRatioOfLong = 1.02;
constexpr std::size_t kMostForEachPlaceOfLong = 2;
// Until energy is measured. It makes no difference to ratios of products.
constexpr double kGuessedPowerW = 300;

/// A total order, so that the same trials always give the same candidates.
bool screens_before(const Candidate& a, const Candidate& b) {
  const auto key = [](const Candidate& candidate) {
    return std::tie(candidate.censored, candidate.median_ns, candidate.kernel->name);
  };
  if (key(a) != key(b)) return key(a) < key(b);
  return to_text(a.config) < to_text(b.config);
}

/// The noise floor from the A/A duplicate and its candidate. Nothing if either was not timed in all
/// rounds.
std::optional<NoiseFloor> noise_of(const RerankResult& result, const std::vector<Candidate>& best) {
  if (!result.duplicate || result.duplicate_of >= result.candidates.size()) return std::nullopt;
  const RerankEntry& first = result.candidates[result.duplicate_of];
  const std::vector<double>& second_ns = result.duplicate->samples_ns;
  if (second_ns.empty() || second_ns.size() != first.samples_ns.size()) return std::nullopt;
  return NoiseFloor{best.at(result.duplicate_of).kernel->name, first.name, second_ns,
                    paired_ratio(second_ns, first.samples_ns)};
}

RankEntry timed_entry(const RerankEntry& timed) {
  RankEntry entry;
  entry.config = timed.name;
  entry.samples_ns = timed.samples_ns;
  entry.clocks_mhz = timed.clocks_mhz;
  entry.eliminated = timed.eliminated;
  entry.energy_j = timed.energy_j;
  return entry;
}

std::vector<RankEntry> timed_entries(const RerankResult& result, const std::vector<Candidate>& best,
                                     const std::vector<TrialRequest>& requests) {
  std::vector<RankEntry> entries;
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    const RerankEntry& timed = result.candidates[i];
    const bool correct = timed.outcome.status == Status::correct;
    if (timed.samples_ns.empty() && correct) continue;
    const CompileReport& compile = best[i].compile;
    RankEntry& entry = entries.emplace_back(timed_entry(timed));
    entry.kernel = best[i].kernel->name;
    entry.config = to_text(best[i].config);
    entry.figures = best[i].figures;
    if (!correct) entry.failure = timed.outcome.message;
    if (is_machine_fault(timed.outcome.status, timed.outcome.kind)) {
      entry.failure.insert(0, kMachineFailed);
    }
    entry.tie_break = {compile.spill_bytes, compile.registers,
                       compile.static_smem_bytes + requests[i].plan.dynamic_smem_bytes()};
  }
  for (const RerankEntry& timed : result.baselines) {
    entries.push_back(timed_entry(timed));
    if (timed.outcome.status != Status::correct) entries.back().failure = timed.outcome.message;
  }
  return entries;
}

/// Whether the energy of every configuration that may win is known. One with an unknown energy
/// would seem to need none.
bool has_energy(const std::vector<RankEntry>& entries) {
  return std::ranges::all_of(entries, [](const RankEntry& entry) {
    const bool may_win = !entry.kernel.empty() && entry.failure.empty() && !entry.eliminated;
    return !may_win || entry.energy_j > 0;
  });
}

/// keep_best() by a metric or several objectives.
void keep_front(std::vector<Candidate>& correct, std::size_t top, const Objective& objective) {
  struct Screened {
    std::vector<double> costs;    // by each objective
    std::vector<double> hopeful;  // at a time that is less by the ratio that is near
    Candidate candidate;
  };
  const std::vector<std::string> parts = objective.parts();
  std::vector<Screened> all;
  for (Candidate& candidate : correct) {
    Screened& one = all.emplace_back();
    for (const std::string& part : parts) {
      one.costs.push_back(screened_cost(candidate, part));
      one.hopeful.push_back(screened_cost(candidate, part, kNearRatio));
    }
    one.candidate = std::move(candidate);
  }
  std::ranges::sort(all, [](const Screened& a, const Screened& b) {
    if (a.costs != b.costs) return a.costs < b.costs;
    return screens_before(a.candidate, b.candidate);
  });
  const auto covers = [](const Screened& one, const std::vector<double>& costs) {
    return std::equal(costs.begin(), costs.end(), one.costs.begin(),
                      [](double cost, double least) { return least <= cost; });
  };
  std::vector<std::size_t> front;  // nothing covers it that comes before it, and nothing after can
  const auto is_covered = [&](const std::vector<double>& costs) {
    return std::ranges::any_of(front, [&](std::size_t i) { return covers(all[i], costs); });
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_covered(all[i].costs)) front.push_back(i);
  }
  // Those of the front come first, then those near it, then all others.
  std::vector<std::pair<int, std::size_t>> order;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_front = std::ranges::binary_search(front, i);
    order.emplace_back(is_front ? 0 : is_covered(all[i].hopeful) ? 2 : 1, i);
  }
  std::ranges::sort(order);
  const auto num_near = static_cast<std::size_t>(
      std::ranges::count_if(order, [](const auto& one) { return one.first < 2; }));
  order.resize(std::max(std::min(top, order.size()), std::min(num_near, kMostForEachPlace * top)));
  correct.clear();
  for (const auto& [place, i] : order) correct.push_back(std::move(all[i].candidate));
}

/// Sets the rooflines. The baselines do the same work as the winner, so they have its roofline.
void put_rooflines(std::vector<RankEntry>& entries, const std::vector<Candidate>& best) {
  double winner_ns = 0;
  for (RankEntry& entry : entries) {
    const auto candidate = std::ranges::find_if(best, [&](const Candidate& one) {
      return one.kernel->name == entry.kernel && to_text(one.config) == entry.config;
    });
    if (candidate != best.end()) entry.roofline_ns = candidate->roofline_ns;
    if (entry.winner) winner_ns = entry.roofline_ns;
  }
  for (RankEntry& entry : entries) {
    if (entry.kernel.empty()) entry.roofline_ns = winner_ns;
  }
}

}  // namespace

double screened_cost(const Candidate& candidate, const std::string& part, double faster_ratio) {
  const double time_ns =
      (candidate.censored ? candidate.ci_low_ns : candidate.median_ns) / faster_ratio;
  try {
    return Metric(part, candidate.figures).cost(time_ns, time_ns * 1e-9 * kGuessedPowerW);
  } catch (const ExprError&) {
  } catch (const EvalError&) {
  }
  return std::numeric_limits<double>::infinity();
}

void keep_best(std::vector<Candidate>& correct, int top, const Objective& objective) {
  if (!objective.is_word()) {
    keep_front(correct, static_cast<std::size_t>(top), objective);
    return;
  }
  std::ranges::sort(correct, screens_before);
  const auto count_while = [&](const auto& belongs) {
    const auto end = std::ranges::find_if_not(correct, belongs);
    return static_cast<std::size_t>(end - correct.begin());
  };
  const std::size_t num_timed =
      count_while([](const Candidate& candidate) { return !candidate.censored; });
  const double best_ns = correct.empty() ? 0 : correct.front().median_ns;
  const bool is_long = best_ns >= kLongWorkNs;
  const double near_ns = best_ns * (is_long ? kNearRatioOfLong : kNearRatio);
  const std::size_t num_near = count_while([&](const Candidate& candidate) {
    return !candidate.censored && candidate.median_ns <= near_ns;
  });
  const auto places = static_cast<std::size_t>(top);
  const std::size_t least = std::min({correct.size(), places, std::max(num_timed, kLeastRanked)});
  const std::size_t most = (is_long ? kMostForEachPlaceOfLong : kMostForEachPlace) * places;
  correct.resize(std::max(least, std::min(num_near, most)));
}

RankRecord verdict_of(RankRecord asked, const RerankResult& result,
                      const std::vector<Candidate>& best,
                      const std::vector<TrialRequest>& requests) {
  std::vector<RankEntry> entries = timed_entries(result, best, requests);
  if (entries.empty()) return asked;
  asked.noise = noise_of(result, best);
  if (asked.objective.reads("energy_j") && !has_energy(entries)) {
    asked.objective = asked.objective.without_energy();
  }
  asked.entries = rank_entries(std::move(entries), asked.noise ? asked.noise->margin_ratio() : 0,
                               asked.objective);
  put_rooflines(asked.entries, best);
  asked.rounds = 0;
  for (const RankEntry& entry : asked.entries) {
    asked.rounds = std::max(asked.rounds, static_cast<int>(entry.samples_ns.size()));
  }
  return asked;
}

}  // namespace assay
