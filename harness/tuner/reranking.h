#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ranking/verdict.h"
#include "tuner/baselines.h"
#include "tuner/sweep_run.h"

namespace assay {

/// Times the best candidates of an op and a problem in turn with the baselines, and stores who won.
class Reranking {
 public:
  /// `baselines` are those of the op and the problem under way.
  Reranking(SweepRun& run, Baselines& baselines) : run_(run), baselines_(baselines) {}

  /// A configuration that was given up because others were clearly faster has a bound for a time.
  /// In another space, where those others are not, it might win: it is timed again unless something
  /// here is faster than it can be. Those that fail now are taken out of `correct`.
  void time_the_raced_again(const Problem& problem, std::vector<Candidate>& correct);

  /// Ranks `correct`, then all that the store has for the same question if that is more, and counts
  /// what the sweep asks for of those that were re-ranked to the end. A verdict that is stored
  /// already is not asked again. What proves to be wrong is stored as wrong. What failed its
  /// verification does not take part. Throws Interrupted and Error.
  void run(const Question& asked, std::vector<Candidate> correct);

 private:
  /// What a re-rank found to be wrong, and how.
  struct Wrong {
    Candidate candidate;
    Outcome outcome;
  };

  std::vector<TrialRecord> rank(const Question& question, std::vector<Candidate>& correct,
                                const std::vector<TrialRecord>& failed_trials);
  std::vector<TrialRecord> failed_verifications(const Question& asked) const;
  std::vector<Candidate> same_as_failed(const Problem& problem,
                                        const std::vector<Candidate>& correct,
                                        const std::vector<TrialRecord>& failed_trials);
  bool is_ranked(const Question& question, const RankRecord& asked,
                 std::vector<Candidate>& failed) const;
  RankRecord time_in_turn(RankRecord asked, std::vector<Candidate> correct,
                          std::vector<Wrong>& wrong);
  void take_wrong(const Wrong& wrong, const Problem& problem, std::vector<Candidate>& correct,
                  std::vector<Candidate>& racing, std::vector<TrialRecord>& stored_wrong);
  static std::vector<RankEntry> take_refused(const RankRecord& record,
                                             std::vector<Candidate>& correct);
  bool correct_times(const RankRecord& record, std::vector<Candidate>& correct);
  void rank_all_stored(const Question& asked, const std::vector<Candidate>& correct,
                       const std::vector<TrialRecord>& failed_trials);
  void count_finalists(const Question& asked);
  std::vector<TrialRequest> requests_of(const std::vector<Candidate>& best, const Problem& problem);
  RankRecord verdict_asked(const Question& question, const std::vector<Candidate>& correct);
  const KernelSpec* kernel_of_version(const KernelVersion& version);

  SweepRun& run_;
  Baselines& baselines_;
  bool cannot_count_ = false;                                         // it was tried, and failed
  std::map<std::string, std::unique_ptr<KernelSpec>> other_kernels_;  // null: it cannot be loaded
};

}  // namespace assay
