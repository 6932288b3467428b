#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/baseline.h"
#include "worker/prepared_trial.h"
#include "worker/worker_state.h"

namespace assay {

/// An entry of a re-rank, ready to run. Its times go to `entry`.
struct RunnableEntry {
  RerankEntry* entry = nullptr;
  std::vector<std::unique_ptr<PreparedTrial>>
      trials;                    // one for each allocation; none for a baseline
  std::vector<TimedWork> works;  // one for each allocation
  bool stays = false;            // never drops out: others are compared with it

  bool alive() const { return entry->outcome.status == Status::correct && !entry->eliminated; }
  bool timed() const { return alive() && !entry->samples_ns.empty(); }
  double time_ns() const;  // midmean of the samples
};

/// The candidates, or the algorithms of one baseline. An entry competes only within its group.
using EntryGroup = std::vector<RunnableEntry>;

/// A baseline's first choice and its other ways that may be its best.
struct BaselineGroup {
  std::string name;
  std::vector<int> ways{0};
  std::vector<std::unique_ptr<Baseline>> prepared;  // one for each allocation
  std::vector<RerankEntry> entries;                 // one for each way
  EntryGroup runnables;                             // one for each way
};

/// The fastest entry that is still timed; null when there is none.
const RunnableEntry* fastest(const EntryGroup& group);

/// As many allocations as are ever of use.
inline constexpr std::size_t kMostAllocations = 32;

/// The entries of a re-rank, and their allocations. An *allocation* is memory for the outputs, a
/// copy of the inputs and a copy of everyone's code. Rounds use one allocation after another.
class RerankEntries {
 public:
  /// Prepares the candidates, the A/A duplicate of the first, and the baselines at the first
  /// allocation, and checks the candidates there. Times go to `result`, which must outlive this.
  RerankEntries(WorkerState& worker, const std::vector<TrialRequest>& requests,
                const std::vector<std::string>& baseline_names, RerankResult& result);

  /// Adds `share` of as many allocations as the leader's time asks for, up to `most` in all, where
  /// memory has room for them, and prepares everyone there that is still in the race.
  void add_allocations(double share, std::size_t most);

  std::size_t num_allocations() const { return num_allocations_; }
  std::vector<RunnableEntry*> all();
  /// Of each baseline those of names_of_times().
  std::vector<RerankEntry> baseline_entries() const;

  EntryGroup candidates;  // the first led the screening, the last is its duplicate
  std::vector<BaselineGroup> baselines;

 private:
  void enter_candidate(const TrialRequest& request, RunnableEntry& runnable);
  void enter_baseline(BaselineGroup& baseline);
  void enter_all();
  double quick_time_ns();

  WorkerState& worker_;
  std::vector<TrialRequest> requests_;  // of the candidates
  std::size_t arena_bytes_ = 0;         // that each allocation needs
  std::size_t input_bytes_ = 0;         // likewise
  std::size_t prepared_bytes_ = 0;      // likewise: of all candidates
  std::vector<DeviceMemory> arenas_;    // of all allocations but the newest
  std::size_t num_allocations_ = 1;
};

}  // namespace assay
