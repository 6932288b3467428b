#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/prepared_trial.h"
#include "worker/product_baseline.h"
#include "worker/worker_context.h"

namespace assay {

/// One of those taken in turn. Its times go to `entry`.
struct Contender {
  RerankEntry* entry = nullptr;
  std::vector<std::unique_ptr<Trial>> trials;  // one a place; none for a baseline
  std::vector<Work> works;                     // likewise
  bool stays = false;                          // whatever its times: what others are compared with

  bool alive() const { return entry->outcome.status == Status::correct && !entry->eliminated; }
  bool timed() const { return alive() && !entry->samples_ns.empty(); }
  double time_ns() const;  // midmean of the samples
};

/// The candidates, or one baseline's algorithms, which compete among themselves.
using ContenderGroup = std::vector<Contender>;

/// A baseline's first choice and its other algorithms that may be its best.
struct BaselineGroup {
  std::string name;
  std::vector<int> algorithms{0};
  std::vector<std::unique_ptr<ProductBaseline>> products;  // one a place
  std::vector<RerankEntry> entries;                        // one an algorithm
  ContenderGroup contenders;                               // likewise
};

/// The fastest that is still timed; null when none is.
const Contender* fastest(const ContenderGroup& group);

/// Runs `work`; what goes wrong is its outcome. cuBLAS's own errors are a baseline's failure, not
/// the end of the sweep.
Outcome contender_outcome(Bench& bench, const Work& work);

/// Who takes part in a re-rank, and at which places in memory. A place is memory for outputs, a
/// copy of the inputs and a copy of everyone's code; rounds use one place after another.
class Contenders {
 public:
  /// Enters the candidates, the twin of the first, and the baselines at the first place; checks the
  /// candidates there. Times go to `result`, which must outlive the contenders.
  Contenders(Bench& bench, const std::vector<TrialRequest>& requests,
             const std::vector<std::string>& baseline_names, RerankResult& result);

  /// Enters everyone at as many places as the leader's time asks for and memory has room for.
  void enter_more_places();

  std::size_t num_places() const { return num_places_; }
  std::vector<Contender*> all();
  /// First choice and best of each baseline.
  std::vector<RerankEntry> baseline_entries() const;

  ContenderGroup candidates;  // the first is the screening's leader, the last its twin
  std::vector<BaselineGroup> baselines;

 private:
  void enter_candidate(const TrialRequest& request, Contender& contender);
  void enter_baseline(BaselineGroup& baseline);
  void enter_all();

  Bench& bench_;
  std::vector<TrialRequest> requests_;  // of the candidates
  std::size_t arena_bytes_ = 0;         // that each place needs
  std::vector<DeviceMemory> arenas_;    // of the places but the last
  std::size_t num_places_ = 1;
};

}  // namespace assay
