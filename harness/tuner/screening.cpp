#include "tuner/screening.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "tuner/kernel_version.h"

namespace assay {
namespace {

constexpr auto kPollPeriod = std::chrono::microseconds(200);

// How often it is said what the device waits for.
constexpr double kToldPeriodS = 4;

// A search of 60 configurations on 32 cores would learn from the first 11 alone. With a twelfth
// under way it took 3 to 19 s, about as long as its baselines and re-rank (20 products, H100).
constexpr std::size_t kPartsOfBudget = 12;
// How often a trial that another sweep runs is looked at.
constexpr auto kTakenPeriod = std::chrono::milliseconds(20);

/// What the search is told of an outcome. A fault of the machine says nothing of the point, nor
/// does a compile without a run.
void observe(const Outcome& outcome, Observation& seen) {
  if (is_machine_fault(outcome.status, outcome.kind)) return;
  if (is_failure(outcome.status)) {
    seen.is = Observation::Is::failed;
  } else if (outcome.timing) {
    seen.is = outcome.timing->censored() ? Observation::Is::bound : Observation::Is::timed;
    seen.time_ns = outcome.timing->median_ns;
  }
}

}  // namespace

Screening::Screening(SweepRun& run, const KernelSpec& kernel, const Problem& problem,
                     std::vector<Candidate>& correct)
    : run_(run),
      kernel_(kernel),
      problem_(problem),
      correct_(correct),
      proposals_(run, kernel, problem) {
  // Enough that no compiler thread is idle while the device runs one trial. A search that learns
  // knows nothing yet of what is under way, so that is a part of its budget at most.
  const auto num_threads = static_cast<std::size_t>(run.compiler.num_threads());
  window_size_ = 4 * num_threads;
  if (proposals_.learns()) {
    window_size_ =
        std::min(num_threads + num_threads / 2 + 1, proposals_.num_to_try() / kPartsOfBudget + 1);
  }
}

void Screening::run() {
  const AddElapsed screening(run_.report.screening_s);
  recall_wrong();
  if (proposals_.learns()) {
    if (!run_.options.cold_start) proposals_.start_warm();
    recall();
  }
  for (fill_window(); !window_.empty(); fill_window()) {
    if (out_of_time()) {
      propose_no_more();
      run_.report.skipped += window_.size();
      window_.clear();
      break;
    }
    try_claimed(take_compiled());
  }
  await_taken();
  proposals_.report_gain_left();
}

void Screening::compile_ahead() {
  // A search that learns will not try all that it would propose now.
  const std::size_t windows = proposals_.learns() ? 3 : 8;
  std::vector<TrialKey> keys;
  for (const std::size_t index : proposals_.next(windows * window_size_)) {
    keys.push_back(run_.key_of(kernel_, problem_, proposals_.config(index)));
  }
  const std::vector<std::optional<TrialRecord>> stored = run_.store.reuse(run_.id, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (stored[i]) continue;
    CompileJob job = run_.compile_job(kernel_, problem_, keys[i].config);
    job.is_ahead = true;
    static_cast<void>(run_.compiler.submit(std::move(job)));
  }
}

/// What an earlier run of the sweep tried is part of this one's history, in the order in which it
/// was tried: the search goes on from there, and its budget counts it. What failed and may be right
/// now comes before anything new.
void Screening::recall() {
  Filter filter = SweepRun::filter(kernel_.op, problem_);
  filter.kernel = kernel_.name;
  filter.sweep = run_.sweep.name;
  std::vector<TrialKey> keys;
  std::vector<std::size_t> indices;
  std::set<std::size_t> seen;
  for (const TrialRow& row : run_.store.trials(filter)) {
    const std::optional<std::size_t> index = proposals_.index_of(row.record.config);
    if (!index || row.record.problem != problem_) continue;
    if (!seen.insert(*index).second) continue;
    indices.push_back(*index);
    keys.push_back(run_.key_of(kernel_, problem_, row.record.config));
  }
  const std::vector<std::optional<TrialRecord>> stored = run_.store.reuse(run_.id, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!stored[i]) continue;
    if (!answers(*stored[i])) {
      proposals_.try_again(indices[i]);
      continue;
    }
    count(*stored[i], true, proposals_.begin(indices[i]));
  }
}

/// What this kernel's trials of the problem on this GPU were found to be wrong of, by any sweep.
void Screening::recall_wrong() {
  if (run_.is_replay()) return;
  const Question asked = run_.question(kernel_.op, problem_);
  Filter filter = SweepRun::filter(asked);
  filter.kernel = kernel_.name;
  filter.status = Status::correctness;
  for (TrialRow& row : run_.store.trials(filter)) {
    if (is_current(row, asked) && row.record.kernel == run_.versions.at(kernel_.name)) {
      wrong_.push_back(std::move(row.record));
    }
  }
}

void Screening::propose_no_more() {
  if (exhausted_) return;
  run_.report.skipped += proposals_.num_left();
  exhausted_ = true;
}

/// Has the compiler make what the search proposes next, as far as the budget goes.
void Screening::fill_window() {
  // By the quarter, as a proposal of several costs little more than one.
  while (!exhausted_ && 4 * window_.size() <= 3 * window_size_) {
    if (out_of_time() || proposals_.has_little_to_gain()) {
      propose_no_more();
      return;
    }
    const std::vector<std::size_t> proposed = proposals_.next(window_size_ - window_.size());
    exhausted_ = proposed.empty();
    std::vector<TrialKey> keys;
    for (const std::size_t index : proposed) {
      keys.push_back(run_.key_of(kernel_, problem_, proposals_.config(index)));
    }
    const std::vector<std::optional<TrialRecord>> stored = run_.store.reuse(run_.id, keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::size_t history_index = proposals_.begin(proposed[i]);
      if (stored[i] && answers(*stored[i])) {
        count(*stored[i], true, history_index);
        continue;
      }
      std::future<CompileResult> compiled =
          run_.compiler.submit(run_.compile_job(kernel_, keys[i].problem, keys[i].config));
      window_.push_back(
          {std::move(keys[i]), history_index, std::move(compiled), stored[i].has_value()});
    }
    check_interrupt();
  }
}

/// Whether a stored trial says what this sweep would find. It may have failed because the machine
/// did, or its median may be of few samples because it was allowed less time.
bool Screening::answers(const TrialRecord& stored) const {
  const Outcome& outcome = stored.outcome;
  if (run_.options.retry_failed && is_failure(outcome.status)) return false;
  if (is_machine_fault(outcome.status, outcome.kind)) return run_.is_replay();
  const std::optional<Timing>& timing = outcome.timing;
  if (!timing || timing->stop != StopReason::time_limit) return true;
  // Recordings and databases that do not say were measured with the default.
  const double limit_s =
      timing->time_limit_s > 0 ? timing->time_limit_s : MeasureSpec{}.max_seconds_per_config;
  return limit_s >= run_.sweep.measure.max_seconds_per_config;
}

bool Screening::out_of_time() const {
  const std::optional<double>& budget_s = run_.sweep.search.budget_seconds;
  return budget_s && seconds_since(run_.started) > *budget_s;
}

/// Waits for the first that is compiled, so that one slow compile does not hold the device up. Says
/// what it waits for if that is long.
Screening::InFlight Screening::take_compiled() {
  const auto start = std::chrono::steady_clock::now();
  double told_s = 0;
  for (;;) {
    const auto is_ready = [](const InFlight& item) {
      return item.compiled.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    };
    const auto ready = std::ranges::find_if(window_, is_ready);
    run_.progress.set_ahead(
        static_cast<std::size_t>(std::count_if(ready, window_.end(), is_ready)));
    if (ready != window_.end()) {
      InFlight item = std::move(*ready);
      window_.erase(ready);
      return item;
    }
    const AddElapsed idle(run_.report.compiler_wait_s);
    window_.front().compiled.wait_for(kPollPeriod);
    check_interrupt();
    const double waited_s = seconds_since(start);
    if (waited_s < told_s + kToldPeriodS) continue;
    told_s = waited_s;
    run_.progress.stage(
        fmt::format("compiling {} for {:.0f} s", to_text(window_.front().key.config), waited_s));
  }
}

void Screening::try_claimed(InFlight item) {
  const CompileResult compiled = item.compiled.get();
  check_interrupt();
  run_.report.compile_s += compiled.report.compile_ms / 1e3;
  if (item.replaces) {
    try_again(item.key, item.history_index, [&] { return compiled; });
    return;
  }
  switch (run_.store.claim(run_.id, item.key)) {
    case Claim::taken:
      taken_.push_back({std::move(item.key), item.history_index, {}, false});
      return;
    case Claim::done:
      try_again(item.key, item.history_index, [&] { return compiled; });
      return;
    case Claim::fresh:
      run_claimed(item.key, item.history_index, compiled);
      return;
  }
}

/// Tries what is stored and does not answer, unless another sweep has tried it again since this one
/// looked. Returns whether it had.
bool Screening::try_again(const TrialKey& key, std::size_t history_index,
                          const std::function<CompileResult()>& compiled) {
  const std::optional<TrialRecord> stored = run_.store.find(run_.id, key);
  if (stored && answers(*stored)) {
    count(*stored, true, history_index);
    return true;
  }
  TrialRecord record = try_config(key, compiled());
  run_.store.replace(run_.id, record,
                     run_.options.retry_failed ? Store::IfWrong::replace : Store::IfWrong::keep);
  // Another may have found it wrong in the same moment.
  const std::optional<TrialRecord> now = run_.store.find(run_.id, key);
  if (now && now->outcome.status == Status::correctness) record = *now;
  count(std::move(record), false, history_index);
  return false;
}

TrialRecord Screening::try_config(const TrialKey& key, const CompileResult& compiled) {
  std::optional<TrialRecord> same;
  if (compiled.ok) {
    same = wrong_of_same_code(key, compiled.report);
    if (!same) same = trial_of_same_code(key, compiled.report);
  }
  if (!same) return run_.try_config(kernel_, key, compiled, best_ns());
  TrialRecord record{key, compiled.report, same->outcome, now_utc(), same->measurements};
  if (record.outcome.same_as.empty()) record.outcome.same_as = to_text(same->config);
  record.outcome.device_ms = 0;
  return record;
}

/// What is known to be wrong of the same code for this problem: it would pass now and then.
std::optional<TrialRecord> Screening::wrong_of_same_code(const TrialKey& key,
                                                         const CompileReport& compiled) const {
  if (run_.options.retry_failed) return std::nullopt;
  for (const TrialRecord& other : wrong_) {
    if (other.config != key.config &&
        is_same_code(kernel_, problem_, run_.device.info(), key.config, compiled.cubin_hash,
                     other.config, other.compile.cubin_hash)) {
      return other;
    }
  }
  return std::nullopt;
}

/// The trial of the same code for this problem, if it was correct and nothing held the GPU down.
/// What fails otherwise is run each time: not all faults are found in one run.
std::optional<TrialRecord> Screening::trial_of_same_code(const TrialKey& key,
                                                         const CompileReport& compiled) {
  if (run_.is_replay()) return std::nullopt;
  for (const Candidate& other : correct_) {
    if (other.kernel != &kernel_ || !other.same_as.empty() ||
        !is_same_code(kernel_, problem_, run_.device.info(), key.config, compiled.cubin_hash,
                      other.config, other.compile.cubin_hash)) {
      continue;
    }
    std::optional<TrialRecord> stored =
        run_.store.find(run_.id, run_.key_of(kernel_, problem_, other.config));
    if (!stored || !stored->outcome.timing || stored->outcome.timing->num_throttled > 0 ||
        stored->outcome.timing->stop == StopReason::unsettled) {
      continue;
    }
    return stored;
  }
  return std::nullopt;
}

void Screening::run_claimed(const TrialKey& key, std::size_t history_index,
                            const CompileResult& compiled) {
  try {
    const TrialRecord record = try_config(key, compiled);
    run_.store.finish(run_.id, record);
    count(record, false, history_index);
  } catch (const Interrupted&) {
    run_.store.release(run_.id, key);
    throw;
  }
}

/// Without the trials that other sweeps are running, the candidates would be fewer than the sweep's
/// own, and no verdict would be of all of them.
void Screening::await_taken() {
  if (!taken_.empty()) {
    run_.progress.stage(fmt::format("waiting for another sweep's {} trials", taken_.size()));
  }
  for (const InFlight& item : taken_) {
    Claim claim = run_.store.claim(run_.id, item.key);
    while (claim == Claim::taken) {
      check_interrupt();
      std::this_thread::sleep_for(kTakenPeriod);
      claim = run_.store.claim(run_.id, item.key);
    }
    if (claim == Claim::fresh) {  // the other sweep has given it up
      run_claimed(item.key, item.history_index,
                  run_.compile(kernel_, item.key.problem, item.key.config));
    } else {
      const bool was_taken = try_again(item.key, item.history_index, [&] {
        return run_.compile(kernel_, item.key.problem, item.key.config);
      });
      run_.report.taken += was_taken ? 1 : 0;
    }
  }
  taken_.clear();
}

/// The median of the fastest so far that was timed to the end. By another objective a slower one
/// may win, so that none is given up.
std::optional<double> Screening::best_ns() const {
  if (!run_.sweep.rerank.objective.is_word()) return std::nullopt;
  std::optional<double> best_ns;
  for (const Candidate& candidate : correct_) {
    if (candidate.censored) continue;
    best_ns = std::min(best_ns.value_or(candidate.median_ns), candidate.median_ns);
  }
  return best_ns;
}

void Screening::count(TrialRecord record, bool kept, std::size_t history_index) {
  run_.report.add(record, kept);
  if (kept) {  // it may have been tried for another objective
    const std::vector<Measurement> counted = run_.count_for_objective(kernel_, record, nullptr);
    run_.store.add_measurements(run_.id, record, counted);
  }
  const Outcome& outcome = record.outcome;
  std::optional<double> time_ns;
  observe(outcome, proposals_.seen(history_index));
  if (outcome.status == Status::correctness && !run_.is_replay()) wrong_.push_back(record);
  if (outcome.status == Status::correct && outcome.timing) {
    time_ns = outcome.timing->median_ns;
    correct_.push_back(run_.candidate(kernel_, record));
    const Objective& objective = run_.sweep.rerank.objective;
    if (!objective.is_word()) {  // what the search is to make least
      Observation& seen = proposals_.seen(history_index);
      seen.time_ns = screened_cost(correct_.back(), objective.parts().front());
      if (!std::isfinite(seen.time_ns)) seen = {seen.index, Observation::Is::failed};
    }
  }
  run_.progress.count(kept, is_failure(outcome.status), time_ns);
}

}  // namespace assay
