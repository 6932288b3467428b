#include "report/run_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace assay {
namespace {

std::string text_of(const RankEntry& entry) { return entry.kernel + ' ' + entry.config; }

double noise_ratio(const RankRecord& rank) { return rank.noise ? rank.noise->margin_ratio() : 0; }

Rounds rounds_of(const RankEntry& entry, const RankEntry* baseline) {
  Rounds rounds{entry.samples_ns, entry.clocks_mhz};
  if (baseline != nullptr) rounds.yardstick_ns = baseline->samples_ns;
  return rounds;
}

Contest contest_of(const RunResult& before, const RankEntry& old_entry, const RunResult& after,
                   const RankEntry& new_entry) {
  CommonBaseline yardstick = common_baseline(before, after);
  // A pair that dropped out early has no round with the baseline to the end.
  if (yardstick.before != nullptr &&
      (yardstick.before->samples_ns.size() != old_entry.samples_ns.size() ||
       yardstick.after->samples_ns.size() != new_entry.samples_ns.size())) {
    yardstick = {};
  }
  Contest contest{rounds_of(old_entry, yardstick.before), rounds_of(new_entry, yardstick.after)};
  contest.identical = is_same_code(before, old_entry, after, new_entry);
  contest.same_gpu = before.device.uuid == after.device.uuid;
  contest.noise_ratio = std::max(noise_ratio(*before.rank), noise_ratio(*after.rank));
  return contest;
}

/// Whether one configuration of an unchanged kernel won in both.
bool is_same_source(const RunResult& before, const RunResult& after) {
  const TriedConfig* const old_trial = before.find(before.winner());
  const TriedConfig* const new_trial = after.find(after.winner());
  return text_of(before.winner()) == text_of(after.winner()) && old_trial != nullptr &&
         new_trial != nullptr && !old_trial->kernel.source_hash.empty() &&
         old_trial->kernel.source_hash == new_trial->kernel.source_hash &&
         old_trial->kernel.contract_hash == new_trial->kernel.contract_hash;
}

/// The first candidate with the same machine code in both runs that was timed to the end in both.
std::optional<Contest> other_pair_of(const RunResult& before, const RunResult& after) {
  const auto at_full_length = [](const RankEntry& entry) {
    return entry.failure.empty() && !entry.eliminated;
  };
  for (const RankEntry& old_entry : before.rank->entries) {
    for (const RankEntry& new_entry : after.rank->entries) {
      if (at_full_length(old_entry) && at_full_length(new_entry) &&
          is_same_code(before, old_entry, after, new_entry)) {
        return contest_of(before, old_entry, after, new_entry);
      }
    }
  }
  return std::nullopt;
}

/// Whether the time of the best is one that was recorded of the kernel before it changed, or of who
/// knows which version.
bool is_of_older_kernel(const RunResult& result) {
  if (!result.rank) return false;
  const auto says = [&](const std::string& note) {
    return result.provenance.find(note) != std::string::npos;
  };
  const std::string& kernel = result.winner().kernel;
  return says(stale_note(kernel)) || says(unknown_note(kernel));
}

/// Why two results must not be compared; empty if they may.
std::string obstacle(const RunResult& before, const RunResult& after) {
  const DeviceInfo& a = before.device;
  const DeviceInfo& b = after.device;
  if (a.name != b.name) return fmt::format("another GPU: {}, then {}", a.name, b.name);
  if (a.sm_count != b.sm_count || a.l2_bytes != b.l2_bytes) {
    return fmt::format("another part of the GPU: {} SMs, then {} SMs", a.sm_count, b.sm_count);
  }
  if (before.protocol != after.protocol) {
    return fmt::format("another protocol: {}, then {}", before.protocol, after.protocol);
  }
  if (before.application_clocks && after.application_clocks &&
      *before.application_clocks != *after.application_clocks) {
    return fmt::format("another clock policy: clocks were set {} run only",
                       *before.application_clocks ? "in the first" : "in the second");
  }
  if (before.only_energy || after.only_energy) return "its best was chosen by energy, not by time";
  for (const RunResult* result : {&before, &after}) {
    if (!is_of_older_kernel(*result)) continue;
    return "what has changed was not measured: the time is " + result->provenance;
  }
  return "";
}

KernelConfig best_of(const RankEntry& winner) {
  return {winner.kernel, parse_config(winner.config)};
}

ComparedResult result_of(const RunResult* before, const RunResult* after) {
  const RunResult& named = after != nullptr ? *after : *before;
  ComparedResult result{named};
  if (before != nullptr && before->rank) {
    result.before_ns = before->winner().median_ns;
    result.best_before = best_of(before->winner());
  }
  if (after != nullptr && after->rank) {
    result.after_ns = after->winner().median_ns;
    result.best_after = best_of(after->winner());
  }
  return result;
}

/// How the old best does in the new run, where another one won.
void follow_old_best(const RunResult& before, const RunResult& after, ComparedResult& result) {
  const RankEntry& old_best = before.winner();
  const RankEntry& new_best = after.winner();
  if (text_of(old_best) == text_of(new_best)) return;
  result.winner_changed = true;
  for (const RankEntry& entry : after.rank->entries) {
    if (text_of(entry) != text_of(old_best)) continue;
    if (!entry.failure.empty()) {
      result.old_best = "failed: " + entry.failure;
      return;
    }
    result.winner_changed = !entry.tied;
    result.old_best_ratio = entry.ratio_to_best.value;
    if (entry.tied) return;
    result.old_best = fmt::format("{:.1f} % behind", (entry.ratio_to_best.value - 1) * 100);
    return;
  }
  const TriedConfig* const trial = after.find(old_best);
  const TriedConfig* const best_trial = after.find(new_best);
  if (trial == nullptr || trial->status == Status::compiled) {
    result.old_best = "not tried";
  } else if (is_failure(trial->status)) {
    result.old_best = fmt::format("failed: {}", to_text(trial->status));
  } else if (trial->median_ns > 0 && best_trial != nullptr && best_trial->median_ns > 0) {
    result.old_best_ratio = trial->median_ns / best_trial->median_ns;
    result.old_best = fmt::format("about {:.0f} % behind", (result.old_best_ratio - 1) * 100);
  } else {
    result.old_best = "clearly behind";
  }
}

/// What is said of two results of one question without a look at the times; nothing if these
/// decide.
std::optional<Fate> fate_without_times(const RunResult& before, const RunResult& after,
                                       std::string& reason) {
  reason = obstacle(before, after);
  if (!reason.empty()) return Fate::not_comparable;
  const std::string failure = after.failure();
  const std::string old_failure = before.failure();
  if (!failure.empty()) {
    reason = failure;
    // That it fails is no news where it failed before.
    return old_failure.empty() ? Fate::failed : Fate::same;
  }
  if (!old_failure.empty()) {
    reason = "failed before: " + old_failure;
    return Fate::added;
  }
  if (before.rank && after.rank) return std::nullopt;
  reason = fmt::format("only screened in the {} run, without a re-rank", !before.rank && !after.rank
                                                                             ? "one and the other"
                                                                         : before.rank ? "second"
                                                                                       : "first");
  return Fate::unsure;
}

/// "gemm_bf16 on NVIDIA H200 (cold)" of each kind of result.
std::string contents_of(const Run& run) {
  std::set<std::string> kinds;
  for (const RunResult& result : run.results) {
    kinds.insert(fmt::format("{} on {} ({})", result.op, result.device.name, result.protocol));
  }
  return fmt::format("{}", fmt::join(kinds, ", "));
}

void require_common_results(const Run& before, const Run& after, const RunComparison& comparison) {
  if (std::ranges::all_of(before.results,
                          [](const RunResult& result) { return !result.failure().empty(); })) {
    throw UsageError("{} has only trials that failed: nothing to compare with", before.name);
  }
  const auto is_compared = [](const ComparedResult& result) {
    return result.fate != Fate::gone && result.fate != Fate::added &&
           result.fate != Fate::not_comparable;
  };
  if (std::ranges::any_of(comparison.results, is_compared)) return;
  const auto refused =
      std::ranges::find(comparison.results, Fate::not_comparable, &ComparedResult::fate);
  const std::string why = refused != comparison.results.end()
                              ? refused->reason
                              : fmt::format("{} has {}; {} has {}", before.name,
                                            contents_of(before), after.name, contents_of(after));
  throw UsageError("{} and {} have no result in common that can be compared: {}", before.name,
                   after.name, why);
}

using ResultPair = std::pair<const RunResult*, const RunResult*>;

/// Finds for each result of one run its like in the other. What is left over, of the same op and
/// problem but of another GPU or protocol, is paired, too.
std::vector<ResultPair> pairs_of(const Run& before, const Run& after) {
  std::vector<ResultPair> pairs;
  std::map<std::string, const RunResult*> old_results;
  for (const RunResult& result : before.results) old_results[question_text(result)] = &result;
  std::multimap<std::string, const RunResult*> new_ones;
  for (const RunResult& result : after.results) {
    if (const auto found = old_results.extract(question_text(result))) {
      pairs.emplace_back(found.mapped(), &result);
    } else {
      new_ones.emplace(result.op + to_text(result.problem), &result);
    }
  }
  for (const auto& [question, result] : old_results) {
    const auto like = new_ones.extract(result->op + to_text(result->problem));
    pairs.emplace_back(result, like ? like.mapped() : nullptr);
  }
  for (const auto& [name, result] : new_ones) pairs.emplace_back(nullptr, result);
  return pairs;
}

}  // namespace

bool ComparedResult::may_be_slower() const {
  return fate == Fate::unsure && (!judgement || judgement->may_be_slower);
}

int RunComparison::count(Fate fate) const {
  return static_cast<int>(std::ranges::count_if(
      results, [fate](const ComparedResult& result) { return result.fate == fate; }));
}

bool RunComparison::is_slower_code(const ComparedResult& result) const {
  if (!result.same_source || !result.judgement || !result.judgement->ratios.time) return false;
  const Interval& ratio = *result.judgement->ratios.time;
  return ratio.low > 1 && ratio.value > 1 + std::max(margin_ratio, noise.time);
}

RunComparison compare_runs(const Run& before, const Run& after, double margin_ratio) {
  RunComparison comparison{before.name, after.name, margin_ratio, {}, {}};
  std::vector<Contest> contests;
  std::vector<Contest> other_pairs;
  std::vector<std::size_t> judged;  // the result of each contest
  for (const auto& [old_result, new_result] : pairs_of(before, after)) {
    ComparedResult& result = comparison.results.emplace_back(result_of(old_result, new_result));
    if (old_result == nullptr || new_result == nullptr) {
      result.fate = old_result == nullptr ? Fate::added : Fate::gone;
      if (new_result != nullptr) result.reason = new_result->failure();
      continue;
    }
    result.stale = environment_changes(*old_result, *new_result);
    if (const auto fate = fate_without_times(*old_result, *new_result, result.reason)) {
      result.fate = *fate;
      continue;
    }
    follow_old_best(*old_result, *new_result, result);
    const Contest& contest = contests.emplace_back(
        contest_of(*old_result, old_result->winner(), *new_result, new_result->winner()));
    result.identical = contest.identical;
    result.same_source = is_same_source(*old_result, *new_result);
    result.same_gpu = contest.same_gpu;
    judged.push_back(comparison.results.size() - 1);
    if (contest.identical) continue;
    if (auto pair = other_pair_of(*old_result, *new_result))
      other_pairs.push_back(*std::move(pair));
  }
  require_common_results(before, after, comparison);
  SuiteComparison suite = compare_suite(contests, other_pairs, margin_ratio);
  comparison.noise = suite.noise;
  for (std::size_t i = 0; i < judged.size(); ++i) {
    ComparedResult& result = comparison.results[judged[i]];
    result.fate = suite.judgements[i].fate;
    result.reason = suite.judgements[i].reason;
    result.judgement = std::move(suite.judgements[i]);
  }
  std::ranges::stable_sort(
      comparison.results,
      [&](const ComparedResult& a, const ComparedResult& b) { return order_of(a) < order_of(b); });
  return comparison;
}

}  // namespace assay
