#include "verdict.h"

#include <algorithm>
#include <tuple>

#include "base/stats.h"
#include "report/ranking.h"

namespace assay {
namespace {

// Entrants of a re-rank, if there are as many correct configurations.
constexpr std::size_t kLeastRanked = 2;

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
                        entry.outcome.status == Status::correct ? "" : entry.outcome.message});
  }
  for (const RerankEntry& entry : result.baselines) {
    entrants.push_back({"", entry.name, entry.samples_ns, {}, ""});
  }
  return entrants;
}

}  // namespace

bool is_ranked(const Store& store, const RankRecord& asked, const DeviceInfo& device,
               const std::string& provenance) {
  Filter filter;
  filter.op = asked.op;
  filter.problem = to_text(asked.problem);
  const std::vector<RankRow> rows = store.ranks(filter);
  return std::any_of(rows.begin(), rows.end(), [&](const RankRow& row) {
    const bool has_winner = std::any_of(row.record.entries.begin(), row.record.entries.end(),
                                        [](const RankEntry& entry) { return entry.winner; });
    return has_winner && row.device.uuid == device.uuid && row.provenance == provenance &&
           row.record.protocol.name == asked.protocol.name;
  });
}

void keep_best(std::vector<Measured>& correct, int top) {
  const auto num_timed = static_cast<std::size_t>(std::count_if(
      correct.begin(), correct.end(), [](const Measured& measured) { return !measured.censored; }));
  const auto kept =
      std::min({correct.size(), static_cast<std::size_t>(top), std::max(num_timed, kLeastRanked)});
  std::partial_sort(correct.begin(), correct.begin() + static_cast<std::ptrdiff_t>(kept),
                    correct.end(), [](const Measured& a, const Measured& b) {
                      return std::tie(a.censored, a.median_ns) < std::tie(b.censored, b.median_ns);
                    });
  correct.resize(kept);
}

RankRecord verdict_of(RankRecord asked, const RerankResult& result,
                      const std::vector<Measured>& best,
                      const std::vector<TrialRequest>& requests) {
  std::vector<Entrant> entrants = entrants_of(result, best, requests);
  if (entrants.empty()) return asked;
  asked.noise = noise_of(result, best);
  asked.entries = rank_entrants(std::move(entrants), asked.noise ? asked.noise->margin_ratio() : 0);
  return asked;
}

}  // namespace assay
