#pragma once

#include <cstddef>
#include <deque>
#include <future>
#include <optional>
#include <vector>

#include "ranking/verdict.h"
#include "tuner/proposals.h"
#include "tuner/sweep_run.h"

namespace assay {

/// Tries the configurations of one kernel for one problem, each once. The search proposes them, the
/// compiler works ahead, and each that is compiled is claimed in the store, run and stored.
class Screening {
 public:
  /// `correct` holds what was correct so far for the same op and problem. This kernel's
  /// configurations race against it and are added to it.
  Screening(SweepRun& run, const KernelSpec& kernel, const Problem& problem,
            std::vector<Candidate>& correct);

  /// Goes on until the space or the budget is used up. What is stored already is not run again,
  /// unless the machine failed in it, it was given up at a time limit below this sweep's, or all
  /// that failed is to be tried again. What another sweep is running is
  /// left to it, and waited for at the end. Throws Interrupted, after giving back the claim at
  /// hand, and Error.
  void run();
  /// Has the compiler make what run() would ask for first, and does not wait for it. Nothing else
  /// is done, and run() finds the code in the compiler's cache.
  void compile_ahead();

 private:
  /// A configuration on its way through the compiler.
  struct InFlight {
    TrialKey key;
    std::size_t history_index = 0;
    std::future<CompileResult> compiled;
    bool replaces = false;  // a stored trial that does not answer what is asked
  };

  void recall();
  void recall_wrong();
  void propose_no_more();
  void fill_window();
  bool out_of_time() const;
  InFlight take_compiled();
  void try_claimed(InFlight item);
  bool try_again(const TrialKey& key, std::size_t history_index,
                 const std::function<CompileResult()>& compiled);
  TrialRecord try_config(const TrialKey& key, const CompileResult& compiled);
  std::optional<TrialRecord> wrong_of_same_code(const TrialKey& key,
                                                const CompileReport& compiled) const;
  std::optional<TrialRecord> trial_of_same_code(const TrialKey& key, const CompileReport& compiled);
  void run_claimed(const TrialKey& key, std::size_t history_index, const CompileResult& compiled);
  void await_taken();
  bool answers(const TrialRecord& stored) const;
  std::optional<double> best_ns() const;
  void count(TrialRecord record, bool kept, std::size_t history_index);

  SweepRun& run_;
  const KernelSpec& kernel_;
  const Problem& problem_;
  std::vector<Candidate>& correct_;
  Proposals proposals_;
  std::size_t window_size_ = 0;
  std::deque<InFlight> window_;
  std::vector<InFlight> taken_;     // by another sweep
  std::vector<TrialRecord> wrong_;  // of this problem, by this and other sweeps
  bool exhausted_ = false;          // nothing more is proposed
};

}  // namespace assay
