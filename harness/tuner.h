#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ranking/verdict.h"
#include "sweep_run.h"

namespace assay {

/// The pipeline: space -> search -> compile ahead -> device -> store -> rank, for every problem of
/// a sweep.
///
/// Whatever a configuration does wrong is stored as its status. What this throws is Interrupted
/// (Ctrl-C) or Error (the device is lost, the disk is full). What was stored before stays.
class Tuner {
 public:
  Tuner(const SweepSpec& sweep, Device& device, Compiler& compiler, Store& store,
        Progress& progress, SweepRun::Options options);

  void run();

  /// What was done so far. Complete after run(), and still right after run() threw.
  const SweepReport& report() const { return run_.report; }

 private:
  void run_all();
  void count_space(const KernelSpec& kernel, const Problem& problem);
  void run_problem(const std::string& op, const Problem& problem);
  std::optional<double> measure_baselines(const KernelSpec& kernel, const Problem& problem);
  void rank(const std::string& op, const Problem& problem, std::vector<Candidate> correct,
            bool measured_now);
  void warn_of_no_energy();
  std::vector<TrialRequest> requests_of(const std::vector<Candidate>& best, const Problem& problem);

  SweepRun run_;
};

}  // namespace assay
