#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"

namespace assay {

/// What one worker is asked for: the whole of Device::rerank, or its share of the rounds.
struct WorkerRerank {
  std::vector<TrialRequest> candidates;
  std::vector<std::string> baselines;
  RerankSpec spec;
  int num_workers = 1;  // that share the rounds
};

/// Makes a worker do its part. If the worker or its context does not survive, returns what went
/// wrong; by then the worker has been replaced.
using RerankAttempt =
    std::function<std::optional<Outcome>(const WorkerRerank& part, RerankResult& result)>;

/// Device::rerank by worker processes that a candidate may kill, or whose context it may lose. If
/// that happens, each candidate is tried alone. Those that do it alone, too, get that as their
/// outcome, and the others are re-ranked anew.
///
/// Short work is divided over several workers. Between two of them, `take_next` goes on with
/// another one. A candidate that has dropped out in one does not take part in the next.
RerankResult rerank_by_workers(WorkerRerank whole, const RerankAttempt& attempt,
                               const std::function<void()>& take_next);

}  // namespace assay
