#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/prepared_trial.h"
#include "worker/product_baseline.h"
#include "worker/worker_state.h"

namespace assay {

/// One of those taken in turn. Its times go to `entry`.
struct RunnableEntry {
  RerankEntry* entry = nullptr;
  std::vector<std::unique_ptr<PreparedTrial>> trials;  // one a place; none for a baseline
  std::vector<Work> works;                             // likewise
  bool stays = false;  // whatever its times: what others are compared with

  bool alive() const { return entry->outcome.status == Status::correct && !entry->eliminated; }
  bool timed() const { return alive() && !entry->samples_ns.empty(); }
  double time_ns() const;  // midmean of the samples
};

/// The candidates, or one baseline's algorithms, which compete among themselves.
using EntryGroup = std::vector<RunnableEntry>;

/// A baseline's first choice and its other algorithms that may be its best.
struct BaselineGroup {
  std::string name;
  std::vector<int> algorithms{0};
  std::vector<std::unique_ptr<ProductBaseline>> products;  // one a place
  std::vector<RerankEntry> entries;                        // one an algorithm
  EntryGroup runnables;                                    // likewise
};

/// The fastest that is still timed; null when none is.
const RunnableEntry* fastest(const EntryGroup& group);

/// Runs `work`; what goes wrong is its outcome. cuBLAS's own errors are a baseline's failure, not
/// the end of the sweep.
Outcome entry_outcome(WorkerState& worker, const Work& work);

/// Who takes part in a re-rank, and at which allocations in memory. A place is memory for outputs,
/// a copy of the inputs and a copy of everyone's code; rounds use one place after another.
class RerankEntries {
 public:
  /// Enters the candidates, the duplicate of the first, and the baselines at the first place;
  /// checks the candidates there. Times go to `result`, which must outlive the runnables.
  RerankEntries(WorkerState& worker, const std::vector<TrialRequest>& requests,
                const std::vector<std::string>& baseline_names, RerankResult& result);

  /// Enters everyone at as many allocations as the leader's time asks for and memory has room for.
  void add_allocations();

  std::size_t num_allocations() const { return num_allocations_; }
  std::vector<RunnableEntry*> all();
  /// First choice and best of each baseline.
  std::vector<RerankEntry> baseline_entries() const;

  EntryGroup candidates;  // the first is the screening's leader, the last its duplicate
  std::vector<BaselineGroup> baselines;

 private:
  void enter_candidate(const TrialRequest& request, RunnableEntry& runnable);
  void enter_baseline(BaselineGroup& baseline);
  void enter_all();

  WorkerState& worker_;
  std::vector<TrialRequest> requests_;  // of the candidates
  std::size_t arena_bytes_ = 0;         // that each place needs
  std::vector<DeviceMemory> arenas_;    // of the allocations but the last
  std::size_t num_allocations_ = 1;
};

}  // namespace assay
