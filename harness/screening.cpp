#include "screening.h"

#include <algorithm>
#include <chrono>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/interrupt.h"

namespace assay {
namespace {

constexpr auto kPollPeriod = std::chrono::microseconds(200);

Outcome compile_failure(const CompileResult& compiled) {
  Outcome outcome;
  outcome.status = Status::compile;
  outcome.kind = compiled.timed_out ? "timeout" : "error";
  outcome.message = compiled.log;
  return outcome;
}

}  // namespace

Screening::Screening(SweepRun& run, const KernelSpec& kernel, const Problem& problem,
                     std::vector<Candidate>& correct)
    : run_(run),
      kernel_(kernel),
      problem_(problem),
      correct_(correct),
      space_(kernel, problem, run.device.info()),
      // Enough that no compiler thread is idle while the device runs one trial.
      window_size_(4 * static_cast<std::size_t>(run.compiler.num_threads())) {
  space_.for_each([&](const std::vector<int>& point) {
    points_.push_back(point);
    return true;
  });
}

void Screening::run() {
  const AddElapsed screening(run_.report.screening_s);
  for (fill_window(); !window_.empty(); fill_window()) try_claimed(take_compiled());
}

/// Has the compiler make what the search proposes next, as far as the budget goes.
void Screening::fill_window() {
  while (!exhausted_ && window_.size() < window_size_) {
    if (out_of_time()) {
      run_.report.skipped += points_.size() - history_.size();
      exhausted_ = true;
      return;
    }
    const std::vector<std::size_t> proposed =
        propose(run_.sweep.search, points_.size(), history_, window_size_);
    exhausted_ = proposed.empty();
    for (const std::size_t index : proposed) {
      history_.push_back({index, std::nullopt});
      const std::size_t history_index = history_.size() - 1;
      TrialKey key = run_.key_of(kernel_, problem_, space_.config(points_[index]));
      if (const std::optional<TrialRecord> stored = run_.store.find(run_.id, key)) {
        count(*stored, true, history_index);
        continue;
      }
      std::future<CompileResult> compiled =
          run_.compiler.submit(run_.compile_job(kernel_, key.config));
      window_.push_back({std::move(key), history_index, std::move(compiled)});
    }
    check_interrupt();
  }
}

bool Screening::out_of_time() const {
  const std::optional<double>& budget_s = run_.sweep.search.budget_seconds;
  return budget_s && seconds_since(run_.started) > *budget_s;
}

/// Waits for the first that is compiled, so that one slow compile does not hold the device up.
Screening::InFlight Screening::take_compiled() {
  for (;;) {
    const auto ready = std::find_if(window_.begin(), window_.end(), [](const InFlight& item) {
      return item.compiled.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    if (ready != window_.end()) {
      InFlight item = std::move(*ready);
      window_.erase(ready);
      return item;
    }
    const AddElapsed idle(run_.report.compiler_wait_s);
    window_.front().compiled.wait_for(kPollPeriod);
    check_interrupt();
  }
}

void Screening::try_claimed(InFlight item) {
  const CompileResult compiled = item.compiled.get();
  check_interrupt();
  run_.report.compile_s += compiled.report.compile_ms / 1e3;
  switch (run_.store.claim(run_.id, item.key)) {
    case Claim::taken:
      ++run_.report.taken;
      run_.progress.count(true, true, std::nullopt);
      return;
    case Claim::done:
      if (const auto stored = run_.store.find(run_.id, item.key)) {
        count(*stored, true, item.history_index);
      }
      return;
    case Claim::fresh:
      break;
  }
  try {
    const auto& [kernel, toolchain, protocol, problem, config] = item.key;
    Outcome outcome = outcome_of(config, compiled);
    const TrialRecord record{kernel, toolchain,       protocol,           problem,
                             config, compiled.report, std::move(outcome), now_utc()};
    run_.store.finish(run_.id, record);
    count(record, false, item.history_index);
  } catch (const Interrupted&) {
    run_.store.release(run_.id, item.key);
    throw;
  }
}

Outcome Screening::outcome_of(const Config& config, const CompileResult& compiled) {
  if (!compiled.ok) return compile_failure(compiled);
  const AddElapsed busy(run_.report.device_s);
  try {
    TrialRequest request = run_.request_of(kernel_, problem_, config, compiled);
    request.best_ns = best_ns();
    return run_.device.run(request);
  } catch (const PlanError& error) {
    return {Status::runtime, "launch", error.what(), {}, {}, 0};
  }
}

/// The median of the fastest so far that was timed to the end.
std::optional<double> Screening::best_ns() const {
  std::optional<double> best_ns;
  for (const Candidate& candidate : correct_) {
    if (candidate.censored) continue;
    best_ns = std::min(best_ns.value_or(candidate.median_ns), candidate.median_ns);
  }
  return best_ns;
}

void Screening::count(const TrialRecord& record, bool kept, std::size_t history_index) {
  run_.report.add(record, kept);
  const Outcome& outcome = record.outcome;
  std::optional<double> time_ns;
  if (outcome.timing) history_[history_index].time_ns = outcome.timing->median_ns;
  if (outcome.status == Status::correct && outcome.timing) {
    time_ns = outcome.timing->median_ns;
    correct_.push_back({&kernel_, record.config, *time_ns, outcome.timing->censored(),
                        record.compile, outcome.timing->roofline_ns});
  }
  run_.progress.count(kept, outcome.status == Status::correct, time_ns);
}

}  // namespace assay
