#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rank.h"
#include "store/store.h"

namespace assay {

/// A trial as far as a comparison of runs looks at it.
struct TriedConfig {
  KernelVersion kernel;
  Status status = Status::correct;
  double median_ns = 0;  // 0: not timed, or only known to be slow
  std::string cubin_hash;
};

/// What a run found for one question.
struct RunResult : Question {
  std::string finished_at = {};  // of the verdict, or of the newest trial
  /// The verdict by time, if there is one with a winner.
  std::optional<RankRecord> rank = {};
  bool only_energy = false;                       // there is a verdict, by energy only
  std::map<std::string, TriedConfig> tried = {};  // by "kernel configuration"
  Toolchain toolchain = {};
  std::optional<bool> application_clocks = {};  // whether the user set clocks; if it is known

  /// The best of the verdict. Precondition: there is one.
  const RankEntry& winner() const;
  /// "7 of 7 trials failed: compile", or "" if one did not fail.
  std::string failure() const;
  const TriedConfig* find(const RankEntry& entry) const;
};

/// The results of one run, in the order of op, device, protocol and problem.
struct Run {
  std::string name;  // for people
  std::vector<RunResult> results;
};

/// Puts a run together. A result measured here comes before one recorded elsewhere, a newer one
/// before an older one.
class RunBuilder {
 public:
  void add(const TrialRow& trial);
  Run finish(std::string name, std::vector<RankRow> ranks);

 private:
  /// A result while it is put together: the rows of one provenance.
  struct Gathered {
    RunResult result;
    int num_states = 0;
    int num_application_clocks = 0;
  };

  Gathered& gathered(Question question);

  std::map<std::pair<std::string, std::string>, Gathered> all_;  // by question and provenance
};

/// What a filter asks a store for, of which no trial is kept longer than needed.
Run make_run(std::string name, const Store& store, const Filter& filter);

/// What a provenance says of a kernel that has changed since its times were recorded.
std::string stale_note(const std::string& kernel);
/// The same of a kernel of which the recording does not say the source.
std::string unknown_note(const std::string& kernel);

/// What was not the same for two results of one question: "driver 580.95 -> 581.10", "the source of
/// gemm_mma". Empty if nothing is known to have changed.
std::vector<std::string> environment_changes(const RunResult& before, const RunResult& after);

/// Whether two entries have the same machine code, launched in the same way.
bool is_same_code(const RunResult& before, const RankEntry& old_entry, const RunResult& after,
                  const RankEntry& new_entry);

/// Whether the baselines were the same as far as is known: files of an older assay do not say. Both
/// need a verdict.
bool are_baselines_alike(const RunResult& before, const RunResult& after);

/// The baseline that both winners were timed with in turn: the same steps, by the same cuBLAS. Its
/// entries in the two verdicts; null if there is none.
struct CommonBaseline {
  const RankEntry* before = nullptr;
  const RankEntry* after = nullptr;
};
CommonBaseline common_baseline(const RunResult& before, const RunResult& after);

}  // namespace assay
