#include "tuner/reranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/find_named.h"
#include "base/interrupt.h"
#include "base/rank.h"
#include "ranking/ranking.h"
#include "spec/twins.h"
#include "tuner/kernel_version.h"

namespace assay {
namespace {

/// Which candidate an entry of a verdict is; the end for a baseline.
std::vector<Candidate>::iterator candidate_of(const RankEntry& entry,
                                              std::vector<Candidate>& candidates) {
  return std::ranges::find_if(candidates, [&](const Candidate& candidate) {
    return candidate.kernel->name == entry.kernel && to_text(candidate.config) == entry.config;
  });
}

}  // namespace

void Reranking::run(const Question& asked, std::vector<Candidate> correct) {
  const std::vector<TrialRecord> failed = failed_verifications(asked);
  for (const TrialRecord& wrong : rank(asked, correct, failed)) run_.report.refuse(wrong);
  rank_all_stored(asked, correct, failed);
  count_finalists(asked);
}

void Reranking::time_the_raced_again(const Problem& problem, std::vector<Candidate>& correct) {
  const auto by_median = [](const Candidate& a, const Candidate& b) {
    return a.median_ns < b.median_ns;
  };
  std::ranges::sort(correct, by_median);
  for (Candidate& candidate : correct) {
    if (!candidate.censored) continue;
    std::optional<double> best_ns;
    for (const Candidate& other : correct) {
      if (other.censored) continue;
      best_ns = std::min(best_ns.value_or(other.median_ns), other.median_ns);
    }
    if (best_ns && candidate.ci_low_ns > *best_ns) continue;
    check_interrupt();
    const KernelSpec& kernel = *candidate.kernel;
    const TrialRecord record =
        run_.try_config(kernel, run_.key_of(kernel, problem, candidate.config),
                        run_.compile(kernel, problem, candidate.config), best_ns);
    const Outcome& outcome = record.outcome;
    if (is_machine_fault(outcome.status, outcome.kind)) continue;  // what was known still holds
    run_.store.replace(run_.id, record);
    const std::optional<Timing>& timing = outcome.timing;
    if (outcome.status != Status::correct || !timing) {
      candidate.kernel = nullptr;  // it fails now
      continue;
    }
    candidate = run_.candidate(kernel, record);
  }
  std::erase_if(correct, [](const Candidate& candidate) { return candidate.kernel == nullptr; });
}

/// What a verdict on these candidates is of.
RankRecord Reranking::verdict_asked(const Question& question,
                                    const std::vector<Candidate>& correct) {
  RankRecord asked;
  asked.op = question.op;
  asked.problem = question.problem;
  CandidateSet candidates;
  std::vector<const KernelSpec*> kernels;
  for (const Candidate& candidate : correct) {
    const TrialKey key = run_.key_of(*candidate.kernel, question.problem, candidate.config);
    candidates.add(key.kernel, key.toolchain, to_text(key.config));
    asked.protocol = key.protocol;
    asked.toolchain = key.toolchain;
    add_once(kernels, candidate.kernel);
    add_once(asked.kernels, key.kernel);
  }
  const RerankSpec& spec = run_.sweep.rerank;
  asked.objective = spec.objective;
  asked.identity = {candidates.hash(),
                    static_cast<std::int64_t>(candidates.size()),
                    spec.top,
                    spec.rounds,
                    spec.objective,
                    {},
                    "",
                    spec.precision_ratio};
  asked.identity.baselines = baselines_.identities(kernels);
  if (!asked.identity.baselines.empty()) asked.identity.cublas = baselines_.cublas_version();
  return asked;
}

/// The trials on this device that failed their verification: they are right where a sweep checks,
/// and known to be wrong elsewhere.
std::vector<TrialRecord> Reranking::failed_verifications(const Question& asked) const {
  std::vector<TrialRecord> failed;
  if (run_.is_replay()) return failed;
  Filter filter = SweepRun::filter(asked);
  filter.status = Status::correct;
  for (TrialRow& row : run_.store.results(filter).trials) {
    const std::optional<Verification>& verification = row.record.verification;
    if (!verification || verification->failure() == nullptr) continue;
    if (!is_current(row, asked)) continue;
    failed.push_back(std::move(row.record));
  }
  return failed;
}

/// Those that failed, and what is the same code under another name.
std::vector<Candidate> Reranking::same_as_failed(const Problem& problem,
                                                 const std::vector<Candidate>& correct,
                                                 const std::vector<TrialRecord>& failed_trials) {
  std::vector<Candidate> failed;
  for (const TrialRecord& trial : failed_trials) {
    for (const Candidate& candidate : correct) {
      if (run_.versions.at(candidate.kernel->name) != trial.kernel) continue;
      if (candidate.config != trial.config &&
          !is_same_code(*candidate.kernel, problem, run_.device.info(), candidate.config,
                        candidate.compile.cubin_hash, trial.config, trial.compile.cubin_hash)) {
        continue;
      }
      failed.push_back(candidate);
      run_.report.warn("{} {} {} cannot win: {} failed its verification, {}", to_text(problem),
                       trial.kernel.name, to_text(candidate.config),
                       candidate.config == trial.config ? "it" : "its code",
                       trial.verification->failure()->name);
    }
  }
  return failed;
}

/// Whether there is a verdict on what is asked whose winner has not `failed` since.
bool Reranking::is_ranked(const Question& question, const RankRecord& asked,
                          std::vector<Candidate>& failed) const {
  if (!run_.store.is_ranked(run_.id, asked)) return false;
  if (failed.empty()) return true;
  bool has_won = false;  // by the newest
  for (const RankRow& row : run_.store.ranks(SweepRun::filter(question))) {
    const RankRecord& rank = row.record;
    if (!is_comparable(row, question) || rank.objective != asked.objective ||
        rank.identity.candidates != asked.identity.candidates) {
      continue;
    }
    has_won = std::ranges::any_of(rank.entries, [&](const RankEntry& entry) {
      return entry.winner && candidate_of(entry, failed) != failed.end();
    });
  }
  return !has_won;
}

/// Returns what proved to be wrong, and takes it out of `correct`.
std::vector<TrialRecord> Reranking::rank(const Question& question, std::vector<Candidate>& correct,
                                         const std::vector<TrialRecord>& failed_trials) {
  check_interrupt();
  const Problem& problem = question.problem;
  const RankRecord asked = verdict_asked(question, correct);
  std::vector<Candidate> failed = same_as_failed(problem, correct, failed_trials);
  if (is_ranked(question, asked, failed)) return {};
  std::vector<Candidate> racing = correct;
  std::erase_if(racing, [&](const Candidate& candidate) {
    return std::ranges::any_of(failed, [&](const Candidate& each) {
      return each.kernel == candidate.kernel && each.config == candidate.config;
    });
  });
  if (racing.empty()) return {};
  std::vector<RankEntry> refused;
  std::vector<TrialRecord> stored_wrong;
  RankRecord record;
  for (;;) {
    std::vector<Wrong> wrong;
    record = time_in_turn(asked, racing, wrong);
    if (run_.is_replay()) break;
    const std::vector<RankEntry> now = take_refused(record, racing);
    for (const Wrong& each : wrong) take_wrong(each, problem, correct, racing, stored_wrong);
    const bool more_take_part = correct_times(record, racing);
    if (racing.empty() || (now.empty() && !more_take_part)) break;
    refused.insert(refused.end(), now.begin(), now.end());
  }
  // What is wrong is no longer stored as correct: the next run asks about the others.
  if (!correct.empty()) record.identity = verdict_asked(question, correct).identity;
  if (record.entries.empty()) return {};  // a replay of a recording that was never re-ranked
  record.entries.insert(record.entries.end(), refused.begin(), refused.end());
  if (record.objective != run_.sweep.rerank.objective) {
    run_.report.warn(
        run_.is_replay()
            ? fmt::format("energy was not {}; ranked by {}", run_.options.provenance,
                          to_text(record.objective))
            : fmt::format("energy was not measured on {}: NVML does not tell it; ranked by {}",
                          run_.device.info().name, to_text(record.objective)));
  }
  if (record.noise && record.noise->margin_ratio() > kMostNoise) {
    run_.report.warn(
        "{}: which is best cannot be told: two copies of the same code differ by {:.0f} %, and "
        "{:.0f} % is the most that a verdict bears; run the sweep again on a GPU that does nothing "
        "else",
        to_text(problem), 100 * record.noise->margin_ratio(), 100 * kMostNoise);
  }
  for (const RankEntry& entry : record.entries) {
    if (entry.failure.empty()) continue;
    run_.report.warn("{} {}{} was dropped by the re-rank: {}", to_text(problem),
                     entry.kernel.empty() ? "the baseline " : entry.kernel + " ", entry.config,
                     entry.failure);
  }
  run_.store.add_rank(run_.id, record);
  return stored_wrong;
}

/// The verdict on the best of `correct`. What proved to be wrong is added to `wrong`.
RankRecord Reranking::time_in_turn(RankRecord asked, std::vector<Candidate> correct,
                                   std::vector<Wrong>& wrong) {
  const std::vector<std::string> baselines = baselines_.runnable(asked.identity.baselines);
  keep_one_of_each_code(correct, asked.problem, run_.device.info());
  keep_best(correct, run_.sweep.rerank.top, run_.sweep.rerank.objective);
  run_.progress.stage(fmt::format("re-ranking the best {}", correct.size()));
  const std::vector<TrialRequest> requests = requests_of(correct, asked.problem);
  const auto rerank = [&] {
    const AddElapsed busy(run_.report.device_s);
    return run_.device.rerank(requests, baselines, run_.sweep.rerank);
  };
  RerankResult result = rerank();
  const bool machine_failed = std::ranges::any_of(result.candidates, [](const RerankEntry& entry) {
    return is_machine_fault(entry.outcome.status, entry.outcome.kind);
  });
  // Such as when the GPU's memory was full for a moment: it says nothing of the configuration.
  if (machine_failed && !run_.is_replay()) {
    const RerankResult first = std::exchange(result, rerank());
    for (std::size_t i = 0; i < first.candidates.size(); ++i) {
      const Outcome& before = first.candidates[i].outcome;
      if (before.status == Status::correctness) result.candidates[i].outcome = before;
    }
  }
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    const Outcome& outcome = result.candidates[i].outcome;
    if (outcome.status == Status::correctness) wrong.push_back({correct[i], outcome});
  }
  asked.finished_at = recorded_or_now(result.recorded_at);
  return verdict_of(std::move(asked), result, correct, requests);
}

/// Takes what is wrong out of both lists, and what is the same code under another name, and stores
/// them as wrong: what was wrong once is not right because it passes another time.
void Reranking::take_wrong(const Wrong& wrong, const Problem& problem,
                           std::vector<Candidate>& correct, std::vector<Candidate>& racing,
                           std::vector<TrialRecord>& stored_wrong) {
  const Candidate& found = wrong.candidate;
  const auto is_wrong = [&](const Candidate& candidate) {
    return candidate.kernel == found.kernel &&
           (candidate.config == found.config ||
            is_same_code(*found.kernel, problem, run_.device.info(), candidate.config,
                         candidate.compile.cubin_hash, found.config, found.compile.cubin_hash));
  };
  for (const Candidate& candidate : correct) {
    if (!is_wrong(candidate)) continue;
    const TrialKey key = run_.key_of(*candidate.kernel, problem, candidate.config);
    std::optional<TrialRecord> stored = run_.store.find(run_.id, key);
    if (!stored) continue;
    stored->outcome = wrong.outcome;
    if (candidate.config != found.config) stored->outcome.same_as = to_text(found.config);
    stored->finished_at = now_utc();
    run_.store.replace(run_.id, *stored);
    stored_wrong.push_back(*std::move(stored));
  }
  std::erase_if(correct, is_wrong);
  std::erase_if(racing, is_wrong);
}

/// Takes out of `correct` what the last check of a re-rank refused after others had been
/// eliminated: they may have lost to it. Returns what was taken out.
std::vector<RankEntry> Reranking::take_refused(const RankRecord& record,
                                               std::vector<Candidate>& correct) {
  std::vector<RankEntry> refused;
  const bool has_eliminated =
      std::ranges::any_of(record.entries, [](const RankEntry& entry) { return entry.eliminated; });
  if (!has_eliminated) return refused;
  for (const RankEntry& entry : record.entries) {
    const auto candidate = candidate_of(entry, correct);
    if (entry.failure.empty() || candidate == correct.end()) continue;
    refused.push_back(entry);
    correct.erase(candidate);
  }
  return refused;
}

/// Sets the times of the screening by those of the re-rank. The clock may have been higher when the
/// winner was screened, and others were given up because they seemed slower: those that might win
/// now are timed again. Returns whether any of them takes part now.
bool Reranking::correct_times(const RankRecord& record, std::vector<Candidate>& correct) {
  // Those that were not re-ranked stand to the winner as they did.
  for (const RankEntry& entry : record.entries) {
    const auto winner = entry.winner ? candidate_of(entry, correct) : correct.end();
    if (winner == correct.end()) continue;
    const double ratio = std::max(1.0, entry.median_ns / winner->median_ns);
    for (Candidate& candidate : correct) {
      if (!candidate.censored) candidate.median_ns *= ratio;
    }
  }
  for (const RankEntry& entry : record.entries) {
    const auto candidate = candidate_of(entry, correct);
    if (candidate != correct.end() && entry.failure.empty()) candidate->median_ns = entry.median_ns;
  }
  const auto num_timed = [&] {
    return std::ranges::count_if(correct,
                                 [](const Candidate& candidate) { return !candidate.censored; });
  };
  const auto before = num_timed();
  time_the_raced_again(record.problem, correct);
  return num_timed() > before;
}

/// Other sweeps may have tried more for the same question. Who asks the database without naming a
/// sweep asks about all of it, so these are ranked together, too.
void Reranking::rank_all_stored(const Question& asked, const std::vector<Candidate>& correct,
                                const std::vector<TrialRecord>& failed_trials) {
  if (run_.is_replay()) return;
  Filter filter = SweepRun::filter(asked);
  filter.status = Status::correct;
  std::vector<Candidate> all;
  for (TrialRow& row : run_.store.results(filter).trials) {
    TrialRecord& trial = row.record;
    if (!is_comparable(row, asked) || !trial.outcome.timing) continue;
    const KernelSpec* kernel = kernel_of_version(trial.kernel);
    if (kernel == nullptr) {
      run_.report.warn(
          "{} also has trials of {} as it was before it changed or moved: `assay best` cannot rank "
          "those with this sweep's; name the sweep: `assay best --sweep {}`",
          run_.store.path().string(), trial.kernel.name, run_.sweep.name);
      return;
    }
    run_.store.add_measurements(row, run_.count_for_objective(*kernel, trial, nullptr));
    all.push_back(run_.candidate(*kernel, trial));
  }
  if (all.size() <= correct.size()) return;
  time_the_raced_again(asked.problem, all);
  rank(asked, all, failed_trials);
}

/// The sweep's own kernel, or one from the folder of kernels, if it is still of this version.
const KernelSpec* Reranking::kernel_of_version(const KernelVersion& version) {
  const std::string& name = version.name;
  for (const KernelSpec& kernel : run_.sweep.kernels) {
    if (kernel.name == name) return run_.versions.at(name) == version ? &kernel : nullptr;
  }
  if (!other_kernels_.contains(name)) {
    auto& kernel = other_kernels_[name];
    try {
      const std::vector<KernelSpec>& others = run_.options.others;
      const auto other = std::ranges::find(others, name, &KernelSpec::name);
      auto found = other != others.end() ? std::optional(*other)
                                         : find_kernel(run_.options.kernel_directory, name);
      if (!found) return nullptr;
      kernel = std::make_unique<KernelSpec>(*std::move(found));
      run_.versions[name] = version_of(*kernel, run_.options.include_directories);
    } catch (const UsageError&) {  // gone, or being edited
      kernel.reset();
    }
  }
  const KernelSpec* kernel = other_kernels_.at(name).get();
  return kernel != nullptr && run_.versions.at(name) == version ? kernel : nullptr;
}

/// Counts, in launches of their own, what the sweep asks for of each that was re-ranked to its end,
/// and keeps it with its trial. What is there already is not counted again.
void Reranking::count_finalists(const Question& asked) {
  const std::vector<std::string>& names = run_.sweep.measure.counters;
  if (names.empty() || cannot_count_) return;
  const Results results = run_.store.results(SweepRun::filter(asked));
  std::set<std::pair<std::string, std::string>> finalists;
  for (const RankRow& rank : results.ranks) {
    if (!is_comparable(rank, asked)) continue;
    for (const RankEntry& entry : rank.record.entries) {
      if (entry.eliminated || !entry.failure.empty()) continue;
      finalists.emplace(entry.kernel, entry.config);
    }
  }
  for (const TrialRow& row : results.trials) {
    const TrialRecord& trial = row.record;
    if (!is_comparable(row, asked) ||
        !finalists.contains({trial.kernel.name, to_text(trial.config)})) {
      continue;
    }
    const KernelSpec* kernel = kernel_of_version(trial.kernel);
    const bool has_all = std::ranges::all_of(names, [&](const std::string& name) {
      return find_named(trial.measurements, name) != nullptr;
    });
    if (kernel == nullptr || has_all) continue;
    check_interrupt();
    const CompileResult compiled = run_.compile(*kernel, asked.problem, trial.config);
    if (!compiled.ok) continue;
    const TrialRequest request = run_.request_of(*kernel, asked.problem, trial.config, compiled);
    std::vector<Measurement> counted;
    try {
      const AddElapsed busy(run_.report.device_s);
      counted = run_.device.count(request, names);
    } catch (const Error& error) {
      run_.report.warn(error.what());
      cannot_count_ = true;  // nor would it the others
      return;
    }
    run_.store.add_measurements(row, counted);
  }
}

std::vector<TrialRequest> Reranking::requests_of(const std::vector<Candidate>& best,
                                                 const Problem& problem) {
  std::vector<TrialRequest> requests;
  for (const Candidate& candidate : best) {
    const CompileResult compiled = run_.compile(*candidate.kernel, problem, candidate.config);
    if (!compiled.ok) {
      throw Error("a cubin of the best configurations cannot be made again: " +
                  to_text(candidate.config) + ": " + compiled.log);
    }
    requests.push_back(run_.request_of(*candidate.kernel, problem, candidate.config, compiled));
    requests.back().screened_ns = candidate.median_ns;
    requests.back().plan.baselines = baselines_.plans();
  }
  return requests;
}

}  // namespace assay
