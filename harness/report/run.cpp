#include "report/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/rank.h"

namespace assay {
namespace {

constexpr std::uint64_t kApplicationClocksBit = 0x2;  // NVML's, of the reasons for a clock

std::string name_of(const std::string& kernel, const std::string& config) {
  return kernel + ' ' + config;
}

/// Whether the baseline took part in all of the winner's rounds.
bool is_beside(const RankEntry& baseline, const RankEntry& winner) {
  return baseline.kernel.empty() && baseline.failure.empty() && !baseline.eliminated &&
         baseline.samples_ns.size() == winner.samples_ns.size();
}

}  // namespace

const RankEntry& RunResult::winner() const {
  return *std::ranges::find_if(rank->entries, &RankEntry::winner);
}

std::string RunResult::failure() const {
  std::map<Status, std::size_t> counts;
  for (const auto& [name, trial] : tried) ++counts[trial.status];
  const auto works = [](const auto& count) { return !is_failure(count.first); };
  if (counts.empty() || std::ranges::any_of(counts, works)) return "";
  std::string text = fmt::format("{} of {} trials failed:", tried.size(), tried.size());
  for (const auto& [status, count] : counts) text += fmt::format(" {}", to_text(status));
  return text;
}

const TriedConfig* RunResult::find(const RankEntry& entry) const {
  const auto found = tried.find(name_of(entry.kernel, entry.config));
  return found == tried.end() ? nullptr : &found->second;
}

std::string stale_note(const std::string& kernel) {
  return fmt::format("{}{} has changed since", kStale, kernel);
}

std::string unknown_note(const std::string& kernel) {
  return fmt::format("{}it does not say which source of {} it is of", kStale, kernel);
}

RunBuilder::Gathered& RunBuilder::gathered(Question question) {
  const auto [found, is_new] = all_.try_emplace({question_text(question), question.provenance});
  if (is_new) found->second.result = {std::move(question)};
  return found->second;
}

void RunBuilder::add(const TrialRow& row) {
  const TrialRecord& trial = row.record;
  Gathered& one = gathered(question_of(row));
  const Outcome& outcome = trial.outcome;
  TriedConfig tried{trial.kernel, outcome.status, 0, trial.compile.cubin_hash};
  if (outcome.status == Status::correct && outcome.timing) {
    if (!outcome.timing->censored()) tried.median_ns = outcome.timing->median_ns;
    if (const auto& state = outcome.timing->state) {
      ++one.num_states;
      if (state->throttle_reasons & kApplicationClocksBit) ++one.num_application_clocks;
    }
  }
  RunResult& result = one.result;
  result.tried.insert_or_assign(name_of(trial.kernel.name, to_text(trial.config)), tried);
  result.finished_at = std::max(result.finished_at, trial.finished_at);
  result.toolchain = trial.toolchain;
}

Run RunBuilder::finish(std::string name, std::vector<RankRow> ranks) {
  for (RankRow& row : ranks) {
    if (std::ranges::none_of(row.record.entries, &RankEntry::winner)) continue;
    RunResult& result = gathered(question_of(row)).result;
    if (row.record.objective != Objective::time) {
      result.only_energy = !result.rank;
      continue;
    }
    result.only_energy = false;
    result.finished_at = row.record.finished_at;
    if (!row.record.toolchain.nvrtc.empty()) result.toolchain = row.record.toolchain;
    result.device = row.device;
    result.rank = std::move(row.record);
  }

  std::map<std::string, Gathered> best;
  for (auto& [key, one] : all_) {
    if (one.num_states > 0) {
      one.result.application_clocks = 2 * one.num_application_clocks > one.num_states;
    }
    const auto rank_of = [](const Gathered& g) {
      return std::tuple(g.result.rank.has_value(), g.result.provenance.empty(),
                        g.result.finished_at);
    };
    const auto found = best.find(key.first);
    if (found == best.end() || rank_of(found->second) < rank_of(one)) {
      best.insert_or_assign(key.first, std::move(one));
    }
  }
  Run run{std::move(name), {}};
  for (auto& [question, one] : best) run.results.push_back(std::move(one.result));
  std::ranges::sort(run.results, [](const RunResult& a, const RunResult& b) {
    return order_of(a) < order_of(b);
  });
  all_.clear();
  return run;
}

Run make_run(std::string name, const Store& store, const Filter& filter) {
  RunBuilder builder;
  Results results = store.results(filter, [&](const TrialRow& row, const Results&) {
    builder.add(row);
    return false;
  });
  return builder.finish(std::move(name), std::move(results.ranks));
}

std::vector<std::string> environment_changes(const RunResult& before, const RunResult& after) {
  std::vector<std::string> changes;
  const auto compare = [&changes](const char* what, const std::string& old_text,
                                  const std::string& new_text) {
    if (!old_text.empty() && !new_text.empty() && old_text != new_text) {
      changes.push_back(fmt::format("{} {} -> {}", what, old_text, new_text));
    }
  };
  std::map<std::string, std::array<const KernelVersion*, 2>> kernels;
  for (const auto& [name, trial] : before.tried) kernels[trial.kernel.name][0] = &trial.kernel;
  for (const auto& [name, trial] : after.tried) kernels[trial.kernel.name][1] = &trial.kernel;
  for (const auto& [name, versions] : kernels) {
    const auto [old_version, new_version] = versions;
    if (old_version == nullptr || new_version == nullptr) {
      changes.push_back((old_version == nullptr ? "kernel added: " : "kernel removed: ") + name);
    } else if (old_version->source_hash != new_version->source_hash) {
      changes.push_back("the source of " + name);
    } else if (old_version->contract_hash != new_version->contract_hash) {
      changes.push_back("the contract of " + name);
    }
  }
  compare("driver", before.toolchain.driver, after.toolchain.driver);
  compare("NVRTC", before.toolchain.nvrtc, after.toolchain.nvrtc);
  compare("arch", before.toolchain.arch, after.toolchain.arch);
  if (before.toolchain.options != after.toolchain.options) changes.push_back("NVRTC's options");
  if (before.rank && after.rank) {
    compare("cuBLAS", before.rank->identity.cublas, after.rank->identity.cublas);
  }
  return changes;
}

bool is_same_code(const RunResult& before, const RankEntry& old_entry, const RunResult& after,
                  const RankEntry& new_entry) {
  if (old_entry.kernel.empty() || old_entry.kernel != new_entry.kernel ||
      old_entry.config != new_entry.config) {
    return false;
  }
  const TriedConfig* const old_trial = before.find(old_entry);
  const TriedConfig* const new_trial = after.find(new_entry);
  // The contract says how the code is launched, and on what.
  return old_trial != nullptr && new_trial != nullptr && !old_trial->cubin_hash.empty() &&
         old_trial->cubin_hash == new_trial->cubin_hash &&
         old_trial->kernel.contract_hash == new_trial->kernel.contract_hash;
}

bool are_baselines_alike(const RunResult& before, const RunResult& after) {
  const auto alike = [](const auto& a, const auto& b) { return a.empty() || b.empty() || a == b; };
  const RankIdentity& old_identity = before.rank->identity;
  const RankIdentity& new_identity = after.rank->identity;
  return alike(old_identity.baselines, new_identity.baselines) &&
         alike(old_identity.cublas, new_identity.cublas);
}

CommonBaseline common_baseline(const RunResult& before, const RunResult& after) {
  CommonBaseline common;
  if (!are_baselines_alike(before, after)) return common;
  for (const RankEntry& old_entry : before.rank->entries) {
    if (!is_beside(old_entry, before.winner())) continue;
    for (const RankEntry& new_entry : after.rank->entries) {
      if (new_entry.config != old_entry.config || !is_beside(new_entry, after.winner())) continue;
      if (common.before == nullptr || old_entry.median_ns < common.before->median_ns) {
        common = {&old_entry, &new_entry};
      }
    }
  }
  return common;
}

}  // namespace assay
