#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/remeasure.h"
#include "report/run.h"

namespace assay {

/// One time of a winner or of a baseline.
struct BenchTime {
  double median_ns = 0;
  double clock_mhz = 0;       // 0: not known
  double roofline_ratio = 0;  // 1.0 = 100 %; 0: not known
  std::string failure = {};   // why there is none
};

/// A result whose winner and baselines are benchmarks, each of which may be asked for several
/// times.
class BenchQuestion {
 public:
  /// With a `gpu`, each time is measured there; all entries of a question in the same rounds. Else
  /// the stored rounds are dealt out to `num_repetitions`.
  BenchQuestion(RunResult stored, Remeasurer* gpu, std::size_t num_repetitions);

  const RunResult& stored() const { return stored_; }
  /// "best", and the baselines that were timed in the same rounds.
  std::vector<std::string> entries() const;
  /// The next time of an entry. Throws Error when the GPU is lost.
  BenchTime next(const std::string& entry);

 private:
  RunResult stored_;
  Remeasurer* gpu_;
  std::string obstacle_;
  std::size_t num_repetitions_;
  std::map<std::string, std::size_t> num_asked_;  // by entry
  std::vector<RunResult> measured_;
};

}  // namespace assay
