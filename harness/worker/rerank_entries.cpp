#include "worker/rerank_entries.h"

#include <algorithm>
#include <random>

#include "base/stats.h"

namespace assay {
namespace {

// The time of short work depends on where outputs, inputs and code lie in memory, and that stays
// the same for as long as a process lives. One 1024^3 product took 12.0 or 12.4 us by the page of
// its output alone (H200). So short work is timed at many allocations in turn: 32 for work of up to
// 190 us, where an allocation is still worth 0.2 %, 4 at 1.5 ms, and one from 3 ms on.
constexpr double kAllocationsTimesNs = 6e6;
// Between allocations lie random gaps of up to this size, so that they do not follow each other in
// memory.
constexpr std::size_t kLargestGapBytes = std::size_t{32} << 20;

}  // namespace

double RunnableEntry::time_ns() const { return midmean(entry->samples_ns); }

const RunnableEntry* fastest(const EntryGroup& group) {
  const RunnableEntry* best = nullptr;
  for (const RunnableEntry& runnable : group) {
    if (runnable.timed() && (!best || runnable.time_ns() < best->time_ns())) best = &runnable;
  }
  return best;
}

RerankEntries::RerankEntries(WorkerState& worker, const std::vector<TrialRequest>& requests,
                             const std::vector<std::string>& baseline_names, RerankResult& result)
    : worker_(worker), requests_(requests) {
  // All addresses must be known before the first trial sets its arguments.
  for (const TrialRequest& request : requests) {
    arena_bytes_ = std::max(arena_bytes_, arena_bytes(request.plan));
    input_bytes_ = std::max(input_bytes_, static_cast<std::size_t>(request.plan.input_bytes()));
    prepared_bytes_ += static_cast<std::size_t>(request.plan.prepared_bytes());
  }
  worker.enter_problem(requests.front().plan.problem);
  worker.release_memory();  // all candidates must fit together, and the sweep kept other shapes
  const Outcome room = worker.guarded([&] {
    worker.arena.reserve(arena_bytes_);
    return Outcome{};
  });

  requests_.push_back(requests.front());
  candidates.resize(requests_.size());
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    RunnableEntry& runnable = candidates[i];
    runnable.entry = i < requests.size() ? &result.candidates[i] : &result.duplicate.emplace();
    runnable.entry->name = to_text(requests_[i].plan.config);
    runnable.entry->outcome = room;
    if (!runnable.alive() || worker.context_lost) continue;
    runnable.entry->outcome = worker.guarded([&] {
      enter_candidate(requests_[i], runnable);
      runnable.trials.front()->check();
      return Outcome{};
    });
  }
  candidates.front().stays = candidates.back().stays = true;
  for (const std::string& name : baseline_names) {
    BaselineGroup& baseline = baselines.emplace_back();
    baseline.name = name;
    const Outcome outcome = entry_outcome(worker, [&] { enter_baseline(baseline); });
    baseline.entries.resize(baseline.ways.size());
    for (std::size_t i = 0; i < baseline.entries.size(); ++i) {
      baseline.entries[i].outcome = outcome;
      if (i >= baseline.runnables.size()) baseline.runnables.emplace_back();
      baseline.runnables[i].entry = &baseline.entries[i];
    }
    baseline.runnables.front().stays = true;
  }
}

/// Loads the code once more, for the newest allocation.
void RerankEntries::enter_candidate(const TrialRequest& request, RunnableEntry& runnable) {
  runnable.trials.push_back(std::make_unique<PreparedTrial>(worker_, request));
  // Each of 32 allocations gives two samples. With one check for sure in the first three of each,
  // two samples in three of a 4096^3 product were checked where one in four is to be.
  const bool is_another = runnable.trials.size() > 1;
  runnable.works.push_back(runnable.trials.back()->timed(is_another));
  runnable.works.back().launch();  // the first launch loads what is loaded lazily
  worker_.synchronise();
}

void RerankEntries::enter_baseline(BaselineGroup& baseline) {
  baseline.prepared.push_back(make_baseline(worker_, requests_.front(), baseline.name));
  Baseline& prepared = *baseline.prepared.back();
  if (baseline.runnables.empty()) {
    prepared.check();
    baseline.ways = prepared.ways(worker_);
    baseline.runnables.resize(baseline.ways.size());
  }
  for (std::size_t i = 0; i < baseline.ways.size(); ++i) {
    baseline.runnables[i].works.push_back(prepared.timed(baseline.ways[i]));
    baseline.runnables[i].works.back().launch();
  }
  worker_.synchronise();
}

/// Enters those that are still alive at the newest allocation.
void RerankEntries::enter_all() {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    RunnableEntry& runnable = candidates[i];
    if (!runnable.alive() || worker_.context_lost) continue;
    runnable.entry->outcome = worker_.guarded([&] {
      enter_candidate(requests_[i], runnable);
      return Outcome{};
    });
  }
  for (BaselineGroup& baseline : baselines) {
    if (!baseline.runnables.front().alive() || worker_.context_lost) continue;
    const Outcome outcome = entry_outcome(worker_, [&] { enter_baseline(baseline); });
    for (RerankEntry& entry : baseline.entries) entry.outcome = outcome;
  }
}

/// The time of the first candidate that can be timed, which is the leader unless it fails now; 0
/// when there is none.
double RerankEntries::quick_time_ns() {
  double time_ns = 0;
  for (RunnableEntry& runnable : candidates) {
    if (!runnable.alive() || worker_.context_lost) continue;
    runnable.entry->outcome = worker_.guarded([&] {
      time_ns = worker_.timer.quick_median_ns(runnable.works.front(), 3);
      return Outcome{};
    });
    if (runnable.alive()) return time_ns;
  }
  return 0;
}

void RerankEntries::add_allocations(double share, std::size_t most) {
  const double time_ns = quick_time_ns();
  if (time_ns == 0 || worker_.context_lost) return;
  std::size_t free_bytes = 0, total_bytes = 0;
  worker_.driver.cuMemGetInfo(&free_bytes, &total_bytes);
  // An allocation also needs inputs and a workspace. All of them together may take a quarter of the
  // memory.
  const auto place_bytes =
      static_cast<double>(arena_bytes_ + input_bytes_ + prepared_bytes_ + kLargestGapBytes);
  const double fitting = static_cast<double>(free_bytes) / 4 / place_bytes;
  const auto allocations = static_cast<std::size_t>(std::clamp(
      std::min(share * kAllocationsTimesNs / time_ns, fitting), 1.0, static_cast<double>(most)));
  std::mt19937 random(1);
  std::vector<DeviceMemory> gaps;
  for (; num_allocations_ < allocations; ++num_allocations_) {
    const Outcome room = worker_.guarded([&] {
      gaps.push_back(allocate(worker_.driver, random() % kLargestGapBytes + 1));
      arenas_.push_back(worker_.arena.take());
      worker_.arena.reserve(arena_bytes_);
      return Outcome{};
    });
    if (room.status != Status::correct) return;  // the allocations so far must do
    worker_.inputs.clear();
    enter_all();
  }
}

std::vector<RunnableEntry*> RerankEntries::all() {
  std::vector<RunnableEntry*> runnables;
  for (RunnableEntry& runnable : candidates) runnables.push_back(&runnable);
  for (BaselineGroup& baseline : baselines) {
    for (RunnableEntry& runnable : baseline.runnables) runnables.push_back(&runnable);
  }
  return runnables;
}

std::vector<RerankEntry> RerankEntries::baseline_entries() const {
  std::vector<RerankEntry> entries;
  for (const BaselineGroup& baseline : baselines) {
    const RunnableEntry* best = fastest(baseline.runnables);
    const std::vector<std::string> names = names_of_times(requests_.front(), baseline.name);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const RerankEntry* entry = &baseline.entries.front();
      if (names[i].ends_with("_best")) {
        entry = best ? best->entry : entry;
      } else if (i < baseline.entries.size()) {
        entry = &baseline.entries[i];
      }
      entries.push_back(*entry);
      entries.back().name = names[i];
    }
  }
  return entries;
}

}  // namespace assay
