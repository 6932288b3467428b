#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ranking/comparison.h"
#include "report/run.h"
#include "report/tuned_table.h"

namespace assay {

/// What a comparison of runs says of one result, worst first.
enum class Fate { slower, failed, unsure, not_comparable, gone, faster, same, added };
/// "slower", "not comparable", "new", ...
std::string_view to_text(Fate fate);

struct ComparedResult {
  std::string op;
  Problem problem;
  std::string device;  // name of the GPU
  std::string protocol;
  Fate fate = Fate::unsure;
  std::string reason = {};                  // why; empty where that says it all
  std::optional<Judgement> judgement = {};  // where both runs have a verdict
  double before_ns = 0;                     // median of the best; 0: there is none
  double after_ns = 0;
  std::optional<KernelConfig> best_before = {};
  std::optional<KernelConfig> best_after = {};
  bool identical = false;               // the best has the same machine code in both
  bool winner_changed = false;          // and the old one is not among the new one's ties
  std::string old_best = {};            // "3.2 % behind", "failed: compile"; or empty
  double old_best_ratio = 0;            // its time / the new best's; 0: not known
  std::vector<std::string> stale = {};  // what else changed: see environment_changes
  bool same_source = false;  // the best is one configuration of one source and contract in both
  bool same_gpu = true;
  bool may_be_slower() const;
};

/// Two runs, result by result.
struct RunComparison {
  std::string before;  // names of the runs
  std::string after;
  double margin_ratio = 0;
  RunNoise noise;
  std::vector<ComparedResult> results;
  int count(Fate fate) const;
  /// Whether the time of the same code rose by more than the margin and the noise between the runs.
  bool is_slower_code(const ComparedResult& result) const;
};

/// Compares what each run found best for each question. Two GPUs of one model are comparable, since
/// the baseline is the yardstick; models, protocols and the user's own clock settings are not.
///
/// Throws UsageError if that leaves nothing: the first run has nothing correct, or no result of one
/// run can be compared with one of the other.
RunComparison compare_runs(const Run& before, const Run& after, double margin_ratio);

}  // namespace assay
