#include "ranking/verdict.h"

#include <algorithm>
#include <tuple>

#include "base/stats.h"
#include "ranking/ranking.h"

namespace assay {
namespace {

// Entrants of a re-rank, if there are as many correct configurations.
constexpr std::size_t kLeastRanked = 2;
// Entrants for each place in the re-rank's last rounds: a device drops the slower ones early, so
// that they cost little.
constexpr std::size_t kMostForEachPlace = 4;
constexpr double kNearRatio = 1.06;

/// A total order, so that the same trials always give the same shortlist.
bool screens_before(const Measured& a, const Measured& b) {
  const auto key = [](const Measured& measured) {
    return std::tie(measured.censored, measured.median_ns, measured.kernel->name);
  };
  if (key(a) != key(b)) return key(a) < key(b);
  return to_text(a.config) < to_text(b.config);
}

std::int64_t dynamic_smem_bytes(const Plan& plan) {
  std::int64_t most = 0;
  for (const LaunchPlan& launch : plan.launches) most = std::max(most, launch.smem_bytes);
  return most;
}

/// The second entry of one candidate beside the first; nothing when either was not timed
/// throughout.
std::optional<NoiseFloor> noise_of(const RerankResult& result, const std::vector<Measured>& best) {
  if (!result.twin || result.twin_of >= result.candidates.size()) return std::nullopt;
  const RerankEntry& first = result.candidates[result.twin_of];
  const std::vector<double>& second_ns = result.twin->samples_ns;
  if (second_ns.empty() || second_ns.size() != first.samples_ns.size()) return std::nullopt;
  return NoiseFloor{best.at(result.twin_of).kernel->name, first.name, second_ns,
                    paired_ratio(second_ns, first.samples_ns)};
}

std::vector<Entrant> entrants_of(const RerankResult& result, const std::vector<Measured>& best,
                                 const std::vector<TrialRequest>& requests) {
  std::vector<Entrant> entrants;
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    const RerankEntry& entry = result.candidates[i];
    if (entry.samples_ns.empty() && entry.outcome.status == Status::correct) continue;
    const CompileReport& compile = best[i].compile;
    entrants.push_back({best[i].kernel->name,
                        to_text(best[i].config),
                        entry.samples_ns,
                        {compile.spill_bytes, compile.registers,
                         compile.static_smem_bytes + dynamic_smem_bytes(requests[i].plan)},
                        entry.outcome.status == Status::correct ? "" : entry.outcome.message,
                        entry.clocks_mhz,
                        entry.eliminated,
                        entry.energy_j});
  }
  for (const RerankEntry& entry : result.baselines) {
    entrants.push_back({"",
                        entry.name,
                        entry.samples_ns,
                        {},
                        "",
                        entry.clocks_mhz,
                        entry.eliminated,
                        entry.energy_j});
  }
  return entrants;
}

/// Whether the energy of each configuration that may win is known: one unknown would seem the
/// least.
bool has_energy(const std::vector<Entrant>& entrants) {
  return std::all_of(entrants.begin(), entrants.end(), [](const Entrant& entrant) {
    const bool may_win = !entrant.kernel.empty() && entrant.failure.empty() && !entrant.eliminated;
    return !may_win || entrant.energy_j > 0;
  });
}

/// The baselines do the winner's work, and so have its roofline.
void put_rooflines(std::vector<RankEntry>& entries, const std::vector<Measured>& best) {
  double winner_ns = 0;
  for (RankEntry& entry : entries) {
    const auto measured = std::find_if(best.begin(), best.end(), [&](const Measured& one) {
      return one.kernel->name == entry.kernel && to_text(one.config) == entry.config;
    });
    if (measured != best.end()) entry.roofline_ns = measured->roofline_ns;
    if (entry.winner) winner_ns = entry.roofline_ns;
  }
  for (RankEntry& entry : entries) {
    if (entry.kernel.empty()) entry.roofline_ns = winner_ns;
  }
}

}  // namespace

void keep_best(std::vector<Measured>& correct, int top) {
  std::sort(correct.begin(), correct.end(), screens_before);
  const auto count_while = [&](const auto& belongs) {
    const auto end = std::find_if_not(correct.begin(), correct.end(), belongs);
    return static_cast<std::size_t>(end - correct.begin());
  };
  const std::size_t num_timed =
      count_while([](const Measured& measured) { return !measured.censored; });
  const std::size_t num_near = count_while([&](const Measured& measured) {
    return !measured.censored && measured.median_ns <= kNearRatio * correct.front().median_ns;
  });
  const auto places = static_cast<std::size_t>(top);
  const std::size_t least = std::min({correct.size(), places, std::max(num_timed, kLeastRanked)});
  correct.resize(std::max(least, std::min(num_near, kMostForEachPlace * places)));
}

RankRecord verdict_of(RankRecord asked, const RerankResult& result,
                      const std::vector<Measured>& best,
                      const std::vector<TrialRequest>& requests) {
  std::vector<Entrant> entrants = entrants_of(result, best, requests);
  if (entrants.empty()) return asked;
  asked.noise = noise_of(result, best);
  if (!has_energy(entrants)) asked.objective = Objective::time;
  asked.entries = rank_entrants(std::move(entrants), asked.noise ? asked.noise->margin_ratio() : 0,
                                asked.objective);
  put_rooflines(asked.entries, best);
  asked.rounds = 0;
  for (const RankEntry& entry : asked.entries) {
    asked.rounds = std::max(asked.rounds, static_cast<int>(entry.samples_ns.size()));
  }
  return asked;
}

}  // namespace assay
