#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/terminal.h"
#include "ranking/comparison.h"
#include "report/run.h"
#include "report/tuned_table.h"

namespace assay {

struct ComparedResult : Question {
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

/// Which results a table has: all, or those that are not simply the same.
enum class Shown { all, notable };

/// A table for each op, device and protocol, what changed beside, and a summary line.
std::string comparison_text(const RunComparison& comparison, Shown shown,
                            const Terminal& terminal = {});

/// "21 results: 1 slower, 20 same; ...": one line, without its end.
std::string summary_text(const RunComparison& comparison);

/// The comparison as a document, in which what is not known is null.
nlohmann::ordered_json comparison_json(const RunComparison& comparison);

/// "+1.2 %"; "-" if it is not finite.
std::string change_text(double ratio);
/// The change of the view that decides; "-" if there is none.
std::string change_text(const ComparedResult& result);

/// "same code, up to 8.1 % slower in 3 of 21 results; what changed: driver 580 -> 581": one line,
/// without its end. Empty if no code that stayed the same got slower.
std::string slower_code_text(const RunComparison& comparison);

/// What is to be said of a result beside its fate, from most to least important.
std::string remarks_text(const ComparedResult& result);

/// Whether a change may pass.
enum class Gate { passed, failed, undecided };
std::string_view to_text(Gate gate);

/// What a user lets pass although it decides nothing: of unsure, gone and not_comparable.
using Allowed = std::set<Fate>;

/// What a result alone would make of the gate. `failed` if it is slower or nothing is correct any
/// more; `undecided` if it may be slower, cannot be compared or is gone, and that is not allowed.
Gate gate_of(const ComparedResult& result, const Allowed& allowed);
/// The worst of all results: failed before undecided before passed.
Gate gate_of(const RunComparison& comparison, const Allowed& allowed);

/// For the summary page of a CI job: what holds the gate up first, then what else is not the same.
/// GitHub shows 1 MiB; this stays below 64 KiB and says how many results it leaves out.
std::string gate_markdown(const RunComparison& comparison, const Allowed& allowed);

/// JUnit's XML: a test case for each result. Undecided ones are errors; allowed ones are skipped.
std::string gate_junit(const RunComparison& comparison, const Allowed& allowed);

/// The JSON of the comparison, with "gate" in front.
std::string gate_json(const RunComparison& comparison, const Allowed& allowed);

}  // namespace assay
