#include "ranking/verdict.h"

#include <algorithm>
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

/// A total order, so that the same trials always give the same candidates.
bool screens_before(const Candidate& a, const Candidate& b) {
  const auto key = [](const Candidate& candidate) {
    return std::tie(candidate.censored, candidate.median_ns, candidate.kernel->name);
  };
  if (key(a) != key(b)) return key(a) < key(b);
  return to_text(a.config) < to_text(b.config);
}

std::int64_t dynamic_smem_bytes(const Plan& plan) {
  std::int64_t most = 0;
  for (const LaunchPlan& launch : plan.launches) most = std::max(most, launch.smem_bytes);
  return most;
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

TimedEntry timed_entry(const RerankEntry& timed) {
  TimedEntry entry;
  entry.config = timed.name;
  entry.samples_ns = timed.samples_ns;
  entry.clocks_mhz = timed.clocks_mhz;
  entry.eliminated = timed.eliminated;
  entry.energy_j = timed.energy_j;
  return entry;
}

std::vector<TimedEntry> timed_entries(const RerankResult& result,
                                      const std::vector<Candidate>& best,
                                      const std::vector<TrialRequest>& requests) {
  std::vector<TimedEntry> entries;
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    const RerankEntry& timed = result.candidates[i];
    const bool correct = timed.outcome.status == Status::correct;
    if (timed.samples_ns.empty() && correct) continue;
    const CompileReport& compile = best[i].compile;
    TimedEntry& entry = entries.emplace_back(timed_entry(timed));
    entry.kernel = best[i].kernel->name;
    entry.config = to_text(best[i].config);
    if (!correct) entry.failure = timed.outcome.message;
    entry.tie_break = {compile.spill_bytes, compile.registers,
                       compile.static_smem_bytes + dynamic_smem_bytes(requests[i].plan)};
  }
  for (const RerankEntry& timed : result.baselines) {
    entries.push_back(timed_entry(timed));
    if (timed.outcome.status != Status::correct) entries.back().failure = timed.outcome.message;
  }
  return entries;
}

/// Whether the energy of every configuration that may win is known. One with an unknown energy
/// would seem to need none.
bool has_energy(const std::vector<TimedEntry>& entries) {
  return std::all_of(entries.begin(), entries.end(), [](const TimedEntry& entry) {
    const bool may_win = !entry.kernel.empty() && entry.failure.empty() && !entry.eliminated;
    return !may_win || entry.energy_j > 0;
  });
}

/// Sets the rooflines. The baselines do the same work as the winner, so they have its roofline.
void put_rooflines(std::vector<RankEntry>& entries, const std::vector<Candidate>& best) {
  double winner_ns = 0;
  for (RankEntry& entry : entries) {
    const auto candidate = std::find_if(best.begin(), best.end(), [&](const Candidate& one) {
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

void keep_best(std::vector<Candidate>& correct, int top) {
  std::sort(correct.begin(), correct.end(), screens_before);
  const auto count_while = [&](const auto& belongs) {
    const auto end = std::find_if_not(correct.begin(), correct.end(), belongs);
    return static_cast<std::size_t>(end - correct.begin());
  };
  const std::size_t num_timed =
      count_while([](const Candidate& candidate) { return !candidate.censored; });
  const std::size_t num_near = count_while([&](const Candidate& candidate) {
    return !candidate.censored && candidate.median_ns <= kNearRatio * correct.front().median_ns;
  });
  const auto places = static_cast<std::size_t>(top);
  const std::size_t least = std::min({correct.size(), places, std::max(num_timed, kLeastRanked)});
  correct.resize(std::max(least, std::min(num_near, kMostForEachPlace * places)));
}

RankRecord verdict_of(RankRecord asked, const RerankResult& result,
                      const std::vector<Candidate>& best,
                      const std::vector<TrialRequest>& requests) {
  std::vector<TimedEntry> entries = timed_entries(result, best, requests);
  if (entries.empty()) return asked;
  asked.noise = noise_of(result, best);
  if (!has_energy(entries)) asked.objective = Objective::time;
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
