#pragma once

#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "device/device.h"
#include "progress.h"
#include "ranking/verdict.h"
#include "space/space.h"
#include "spec/sweep_spec.h"
#include "store/store.h"
#include "sweep_report.h"

namespace assay {

/// The pipeline: space -> search -> compile ahead -> device -> store -> rank, for every problem of
/// a sweep.
///
/// Whatever a configuration does wrong is stored as its status. What this throws is Interrupted
/// (Ctrl-C) or Error (the device is lost, the disk is full). What was stored before stays.
class Tuner {
 public:
  struct Options {
    std::vector<std::filesystem::path> include_directories;  // of the kernels' common headers
    std::string arch;                                        // "90a"
    std::string command_line;                                // as kept with the sweep
    std::string provenance;     // of the results; empty when measured here
    bool compile_only = false;  // the device is nominal: no times, no ranks
  };

  Tuner(const SweepSpec& sweep, Device& device, Compiler& compiler, Store& store,
        Progress& progress, Options options);

  void run();

  /// What was done so far. Complete after run(), and still right after run() threw.
  const SweepReport& report() const { return report_; }

 private:
  using Clock = std::chrono::steady_clock;

  void run_all();
  void run_problem(const std::string& op, const Problem& problem);
  std::optional<double> measure_baselines(const KernelSpec& kernel, const Problem& problem);
  void screen(const KernelSpec& kernel, const Problem& problem, std::vector<Candidate>& correct);
  TrialRecord run_trial(const KernelSpec& kernel, TrialKey key, const CompileResult& compiled,
                        std::optional<double> best_ns);
  void rank(const std::string& op, const Problem& problem, std::vector<Candidate> correct);
  void warn_of_no_energy();
  std::vector<TrialRequest> requests_of(const std::vector<Candidate>& best, const Problem& problem);

  CompileJob compile_job(const KernelSpec& kernel, const Config& config) const;
  CompileResult wait_for(std::future<CompileResult>& future);
  TrialKey key_of(const KernelSpec& kernel, const Problem& problem, const Config& config) const;
  TrialRequest request_of(const KernelSpec& kernel, const Problem& problem, const Config& config,
                          const CompileResult& compiled) const;
  void take_in(const TrialRecord& record, bool kept, const KernelSpec& kernel,
               std::vector<Candidate>& correct);
  bool out_of_time() const;

  const SweepSpec& sweep_;
  Device& device_;
  Compiler& compiler_;
  Store& store_;
  Progress& progress_;
  Options options_;
  SweepReport report_;
  std::int64_t sweep_id_ = 0;
  Clock::time_point started_;
  std::map<std::string, KernelVersion> versions_;  // by kernel name
  bool measured_in_problem_ = false;
};

}  // namespace assay
