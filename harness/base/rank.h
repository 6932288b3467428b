#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "base/device_info.h"
#include "base/objective.h"
#include "base/stats.h"
#include "base/trial.h"
#include "base/value.h"

namespace assay {

/// How the failure of an entry begins that says nothing of it: its verdict does not hold for good.
inline constexpr std::string_view kMachineFailed = "the machine failed: ";

/// Ends the name of a baseline that computes with another accuracy than the kernels.
inline constexpr std::string_view kOtherAccuracy = "_other_accuracy";

/// What breaks a tie, in this order: fewer spills, fewer registers, fewer bytes of shared memory,
/// then the text of the configuration.
struct TieBreak {
  int spill_bytes = 0;
  int registers = 0;
  std::int64_t smem_bytes = 0;  // static plus dynamic
};

/// One entry of a re-rank: a configuration of a kernel or, with an empty kernel, a baseline.
struct RankEntry {
  std::string kernel;
  std::string config;              // the configuration's text, or the baseline's name
  std::vector<double> samples_ns;  // one per round, in round order
  double median_ns = 0;
  Interval ratio_to_best = {};  // time(this) / time(winner), paired; the winner has 1, 1, 1
  Interval speedup_over_baseline =
      {};  // time(best baseline) / time(this); zeros without a baseline
  bool winner = false;
  bool tied = false;         // cannot be told from the fastest; the winner is one of the tied
  std::string failure = {};  // why it was dropped after the re-rank's own check; empty when fine
  /// Dropped out after the first rounds: it was clearly slower, or not among the best few. It has
  /// only the samples of those rounds.
  bool eliminated = false;
  std::vector<double> clocks_mhz = {};  // SM clock of each sample, 0 where unknown; or none at all
  Interval cycles_ratio_to_best = {};   // as ratio_to_best, of time x clock; zeros when not known
  double energy_j = 0;                  // per launch, at the GPU's steady power; 0: not measured
  double roofline_ns = 0;               // as in Timing
  NamedFigures figures = {};            // that the objective reads, beside time and energy
  std::int64_t trial_id = 0;  // in the database that it was read from; 0: a baseline, or no trial
  TieBreak tie_break = {};    // while the verdict is made; it is not stored

  /// Whether kernels are compared with it: a baseline that computes the same.
  bool is_rival() const { return kernel.empty() && !config.ends_with(kOtherAccuracy); }
};

/// The entry of this kernel and configuration; null where there is none.
const RankEntry* find_entry(const std::vector<RankEntry>& entries, std::string_view kernel,
                            std::string_view config);

/// The A/A duplicate: a second entry of the screening's leader, with the same machine code. How far
/// apart the re-rank puts the two is noise.
struct NoiseFloor {
  std::string kernel;
  std::string config;
  std::vector<double> samples_ns;  // of the duplicate, one per round
  Interval ratio;                  // time(duplicate) / time(leader), paired

  /// The least margin that means anything, as a ratio: how far the interval reaches from 1.
  double margin_ratio() const;
};

/// What a verdict is of, beside its op, problem, protocol and device: two verdicts of one identity
/// answer the same question about the same candidates.
struct RankIdentity {
  std::string candidates;           // candidate_set() of the correct trials; empty: not known
  std::int64_t num_candidates = 0;  // how many they are
  int top = 0;                      // RerankSpec's, as asked
  int least_rounds = 0;             // likewise
  Objective objective = {};         // likewise
  std::vector<std::string> baselines = {};  // what they were compared with, as contracts name it
  std::string cublas = {};                  // version that ran these; empty when not known
  double precision_ratio = 0.0008;          // RerankSpec's; what older verdicts were known to

  /// Whether a verdict of this identity answers a question of `asked`: it is of the same, and known
  /// as well or better.
  bool answers(RankIdentity asked) const {
    if (precision_ratio > asked.precision_ratio) return false;
    asked.precision_ratio = precision_ratio;
    return *this == asked;
  }
  bool operator==(const RankIdentity&) const = default;
};

/// The verdict for one op, problem and device. Winners come from here and nowhere else.
struct RankRecord {
  std::string op;
  Problem problem;
  Protocol protocol;
  int rounds = 0;
  std::vector<RankEntry> entries;  // fastest first, baselines included
  std::string finished_at;
  std::optional<NoiseFloor> noise = {};
  Objective objective = {};  // of the winner: one without energy where that was not measured
  RankIdentity identity = {};
  Toolchain toolchain = {};                 // what the entries were compiled with
  std::vector<KernelVersion> kernels = {};  // the versions of the entries' kernels

  /// The version of an entry's kernel; an empty one when it is not known.
  KernelVersion version_of(const std::string& kernel) const;
};

/// What a result answers: which configuration is the best of an op for a problem, on a device and
/// under a protocol.
struct Question {
  std::string op;
  Problem problem;
  DeviceInfo device;
  std::string protocol;
  std::string provenance = {};  // "recorded on NVIDIA H200, 2026-11-21"; empty when measured here
};

/// What questions are put in order by: op, device, protocol, sizes, problem.
using QuestionOrder =
    std::tuple<std::string, std::string, std::string, std::vector<double>, std::string>;
QuestionOrder order_of(const Question& question);

/// op, problem, device and protocol as one text, the same for the same question in any run.
std::string question_text(const Question& question);
/// "gemm_bf16 on NVIDIA H200, protocol cold"
std::string heading_text(const Question& question);

/// The trials among which a verdict chooses. A trial takes part when it is correct and timed.
/// Kernel version, toolchain and configuration identify the trial.
class CandidateSet {
 public:
  /// Adds a trial if it is a candidate. All must be of one op, problem, protocol and device.
  void add(const TrialRecord& trial);
  /// A candidate, whose configuration is this text.
  void add(const KernelVersion& kernel, const Toolchain& toolchain, std::string_view config);

  std::size_t size() const { return keys_.size(); }
  /// The same for the same candidates, in whatever order and however often they were added; empty
  /// for no candidates.
  std::string hash() const;

 private:
  std::unordered_set<std::string> keys_;
};

/// What comes before the reason in the provenance of a replay whose kernel has changed since.
inline constexpr std::string_view kStale = ", stale: ";

/// Measured trials of one device. results/recorded/ holds them as open text files; a replay answers
/// from them, and `import` reads them.
struct Recording {
  std::string sweep;  // name of the sweep
  DeviceInfo device;
  std::string recorded_at;  // UTC date of the newest trial
  std::vector<TrialRecord> trials;
  std::vector<BaselineRecord> baselines;
  std::vector<RankRecord> ranks;
};

}  // namespace assay
