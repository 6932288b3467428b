#include "device/worker_rerank.h"

#include <utility>

namespace assay {
namespace {

// The time of a kernel depends, by some 30 ns, on where its code and data lie, and that stays the
// same for as long as a process lives. cuBLAS's code cannot be moved within a process. So a 12 us
// product's ratio to cuBLAS has a standard deviation of 0.19 % from process to process (75 workers
// on an H200). That is why a re-rank of short work is divided over so many workers.
constexpr double kShortWorkNs = 50e3;
constexpr int kWorkersForShortWork = 3;

// Energy does not depend on allocations, so that it is enough to measure it once. What is left to
// the later workers are the times, of all that may win.
const Objective kTimesOfAll = parse_objective("minimize time_ns").value();

/// The part of one worker, and of those that replace it.
RerankResult rerank_sound(const WorkerRerank& part, const RerankAttempt& attempt) {
  RerankResult result;
  std::optional<Outcome> failed = attempt(part, result);
  if (!failed) return result;

  // Nothing says which candidate ended the worker, so try each of them alone.
  std::vector<RerankEntry> entries;
  WorkerRerank sound = {{}, part.baselines, part.spec, part.num_workers};
  for (const TrialRequest& candidate : part.candidates) {
    RerankResult alone;
    failed = attempt({{candidate}, {}, {.rounds = 1}, part.num_workers}, alone);
    // It may not end the worker and be wrong all the same.
    entries.push_back({to_text(candidate.plan.config),
                       {},
                       failed ? *failed : std::move(alone.candidates.at(0).outcome)});
    if (entries.back().outcome.status == Status::correct) sound.candidates.push_back(candidate);
  }
  result = {};
  std::optional<std::size_t> first_sound;
  if (!sound.candidates.empty()) failed = attempt(sound, result);
  std::size_t next = 0;
  for (RerankEntry& entry : entries) {
    if (entry.outcome.status != Status::correct) continue;
    if (!first_sound) first_sound = static_cast<std::size_t>(&entry - entries.data());
    if (failed) {
      entry.outcome = *failed;
    } else {
      entry = std::move(result.candidates.at(next++));
    }
  }
  return {std::move(entries), std::move(result.baselines), std::move(result.duplicate),
          first_sound.value_or(0)};
}

void append(std::vector<double>& whole, const std::vector<double>& more) {
  whole.insert(whole.end(), more.begin(), more.end());
}

void append(RerankEntry& whole, const RerankEntry& more) {
  append(whole.samples_ns, more.samples_ns);
  append(whole.clocks_mhz, more.clocks_mhz);
  whole.outcome = more.outcome;
  whole.eliminated = more.eliminated;
}

/// Adds the rounds of one more worker. Its candidates are those of `whole` at `indices`.
void append(RerankResult& whole, const RerankResult& more,
            const std::vector<std::size_t>& indices) {
  for (std::size_t i = 0; i < indices.size(); ++i) {
    append(whole.candidates.at(indices[i]), more.candidates.at(i));
  }
  for (std::size_t i = 0; i < more.baselines.size(); ++i) {
    append(whole.baselines.at(i), more.baselines[i]);
  }
  if (whole.duplicate && more.duplicate && indices.at(more.duplicate_of) == whole.duplicate_of) {
    append(*whole.duplicate, *more.duplicate);
  }
}

}  // namespace

RerankResult rerank_by_workers(WorkerRerank whole, const RerankAttempt& attempt,
                               const std::function<void()>& take_next) {
  if (whole.candidates.empty()) return {};
  const std::optional<double> leader_ns = whole.candidates.front().screened_ns;
  whole.num_workers = leader_ns && *leader_ns < kShortWorkNs ? kWorkersForShortWork : 1;
  RerankResult result = rerank_sound(whole, attempt);
  for (int worker = 1; worker < whole.num_workers; ++worker) {
    WorkerRerank part = {{}, whole.baselines, whole.spec, whole.num_workers};
    if (whole.spec.objective != Objective::time) part.spec.objective = kTimesOfAll;
    std::vector<std::size_t> indices;  // of its candidates
    for (std::size_t i = 0; i < whole.candidates.size(); ++i) {
      const RerankEntry& entry = result.candidates[i];
      if (entry.outcome.status != Status::correct || entry.eliminated) continue;
      indices.push_back(i);
      part.candidates.push_back(whole.candidates[i]);
    }
    if (indices.empty()) break;
    take_next();
    append(result, rerank_sound(part, attempt), indices);
  }
  return result;
}

}  // namespace assay
