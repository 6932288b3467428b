#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"

namespace assay {

/// What one worker process is asked for: Device::rerank, or its share of the rounds.
struct WorkerRerank {
  std::vector<TrialRequest> candidates;
  std::vector<std::string> baselines;
  RerankSpec spec;
  int num_workers = 1;  // that share the rounds
};

/// Has a worker do its part. Returns what went wrong when it did not survive; another one is there
/// then.
using RerankAttempt =
    std::function<std::optional<Outcome>(const WorkerRerank& part, RerankResult& result)>;

/// Device::rerank by processes that a candidate may kill. Then each candidate is tried alone, those
/// that kill their worker have that as their outcome, and the others take their turns again. Short
/// work is divided over several workers, between which `replace` ends one and starts the next; who
/// has left in one does not come back in the next.
RerankResult rerank_by_workers(WorkerRerank whole, const RerankAttempt& attempt,
                               const std::function<void()>& replace);

}  // namespace assay
