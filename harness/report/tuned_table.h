#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/rank.h"
#include "base/terminal.h"
#include "ranking/ranking.h"
#include "report/config_text.h"
#include "store/store.h"

namespace assay {

/// A configuration of a Pareto list, with what each objective is.
struct FrontRow {
  KernelConfig choice;
  std::vector<Achieved> achieved;
};

/// What is best for one problem, and how well that is known.
struct TunedRow {
  Problem problem;
  KernelConfig best;
  bool reranked = true;            // false: the best median of the screening, not a verdict
  int rounds = 0;                  // of the re-rank
  Interval time_ns;                // median; low and high are infinite when samples are too few
  std::string baseline;            // the fastest, by name; empty when there is none
  double baseline_ns = 0;          // its median
  std::string baseline_detail;     // which algorithm it is, or its steps with their times
  double first_ns = 0;             // of cuBLASLt's first choice; 0: not known
  Interval speedup;                // baseline over best; low == high == 0 when it has no interval
  Interval cycles_speedup;         // the same in cycles; zeros when the clocks are not known
  std::vector<KernelConfig> ties;  // cannot be told from the best
  double noise_ratio = 0;          // least margin that the re-rank could claim; 0: not known
  double runner_up_ratio = 0;      // time of the fastest that is not tied over the best's; 0: none
  double roofline_ns = 0;          // of the best, as in Timing
  double energy_j = 0;             // of the best, per launch; 0: not measured
  // Device memory of the best's buffers, and of the baseline's; 0: not known.
  std::int64_t memory_bytes = 0;
  std::int64_t baseline_memory_bytes = 0;
  KernelVersion version;       // of the winner's trial; empty when the trial is not known
  Toolchain toolchain;         // likewise
  std::string reference = {};  // what its output was compared with; empty: not known
  double precision_ratio = 0;
  std::string provenance;
  std::string finished_at;
  std::string cublas = {};                        // version that ran the baselines; empty: unknown
  std::int64_t trial_id = 0;                      // the best's; 0: not known
  std::int64_t rank_id = 0;                       // the verdict's; 0: not re-ranked
  std::string cubin_hash = {};                    // likewise: equal hashes are the same code
  std::optional<Verification> verification = {};  // of the best
  std::optional<Prepared> prepared = {};          // likewise
  /// By a metric or several objectives: the best, then the others of the Pareto list.
  std::vector<FrontRow> front = {};

  /// How near the best is to the least time that the device allows (1.0 = 100 %); 0: not known.
  double roofline_ratio() const { return roofline_ns > 0 ? roofline_ns / time_ns.value : 0; }
};

/// The tuned table of an op on a device, under a protocol and for an objective. Its problems are in
/// numeric order.
struct TunedTable {
  std::string op;
  DeviceInfo device;
  std::string protocol;
  Objective objective = {};
  std::vector<TunedRow> entries;  // at least one
  /// The row whose configuration is the best compromise: over all problems, its geometric-mean loss
  /// against each problem's winner is least, by screening medians. 0 when no winner was measured
  /// for all of them.
  std::size_t fallback = 0;
};

/// Whether a problem that was screened but not re-ranked gets a row.
enum class Screened { show, hide };

/// "protocol cold", "protocol cold, least energy", "protocol cold, least time and minimize
/// registers": the conditions of a table.
std::string conditions_text(const TunedTable& table);

/// Makes tables from what a store holds, sorted by op, device, protocol and objective.
///
/// Results measured here and results recorded elsewhere stay apart: a problem has one row for each
/// provenance. A result of the screening is shown only where no re-rank has a verdict, whatever its
/// objective.
std::vector<TunedTable> tuned_tables(const Results& results, Screened screened);

/// Leaves only the trials of configurations that stayed in a re-rank to its last checks, on that
/// GPU for some problem, and that no re-rank refused. The screening checks less, so a configuration
/// that was only screened may be wrong. `wrong` are the trials whose outputs were wrong.
void keep_checked(std::vector<TrialRow>& trials, const std::vector<RankRow>& ranks,
                  const std::vector<TrialRow>& wrong);

/// Chooses the trials that tuned_tables looks at, so that 10^6 others need not be kept: those that
/// a verdict names, and of each question those that were the fastest when they came.
class TunedTrials {
 public:
  /// As Store::results asks.
  bool operator()(const TrialRow& trial, const Results& results);

 private:
  std::optional<std::unordered_set<std::string>> named_;  // "kernel configuration", of all verdicts
  std::optional<Question> question_;  // of the last trial: a question's come together
  double fastest_ns_ = 0;             // of this question so far
  std::set<std::string> versions_;    // of which a reference is known
};

/// The table with one row a problem, for software that looks problems up. It takes a row measured
/// here before a recorded one, and the newest of several.
TunedTable unique_problems(TunedTable table, const std::vector<TrialRow>& trials);

struct BestLayout {
  bool wide = false;  // whole parameter names, every parameter in every line
  bool ties = false;  // list the ties under each table
  Terminal terminal = {};
};

/// A table for each op, device, protocol and objective: problem, winner, time, margin over the
/// baseline, ties, and where it was measured, said once where all were measured there and then; the
/// energy and the metric where the objective reads them, and how near the times are to the device's
/// ceilings where that is known. Below it the Pareto list of each problem, where there are several
/// objectives. Empty for no tables.
std::string best_text(const std::vector<TunedTable>& tables, const BestLayout& options);

/// The same: a list of one object an entry.
nlohmann::ordered_json best_json(const std::vector<TunedTable>& tables);

}  // namespace assay
