#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compile/compiler.h"
#include "device/device.h"
#include "progress.h"
#include "space/space.h"
#include "spec/sweep_spec.h"
#include "store/store.h"

namespace assay {

/// What racing spared a sweep.
struct RacingReport {
  std::size_t finished = 0;  // configurations timed to the end
  std::size_t finished_samples = 0;
  std::size_t raced = 0;  // and those given up early
  std::size_t raced_samples = 0;
  double raced_medians_s = 0;  // sum of their medians
  double raced_sampled_s = 0;  // sum of median times samples

  void add(const Timing& timing);
  /// Running time of the samples not taken, if the raced would have needed as many as the others.
  double saved_s() const;
};

/// What a sweep did, for the summary and the exit code.
struct SweepReport {
  std::size_t total = 0;     // configurations times problems
  std::size_t measured = 0;  // in this run
  std::size_t kept = 0;      // stored by an earlier run, not measured again
  std::size_t taken = 0;     // being measured by another sweep on the same database
  std::size_t skipped = 0;   // left out because the budget was used up
  std::map<std::pair<Status, std::string>, std::size_t>
      counts;  // by status and kind, kept included
  std::map<std::pair<Status, std::string>, std::string> examples;  // one message for each
  std::map<std::string, std::uint64_t> removed;  // points by the constraint that removed them
  double wall_s = 0;
  double screening_s = 0;      // of it, compiling, checking and timing configurations
  double device_s = 0;         // in trials, baselines and re-ranks
  double compiler_wait_s = 0;  // the device idle because no configuration was compiled yet
  double compile_s = 0;        // summed over the threads
  RacingReport racing;
  std::vector<std::string> warnings;
};

/// The pipeline: space -> search -> compile ahead -> device -> store -> rank, for every problem of
/// a sweep. Everything a configuration does wrong is a stored status; what it throws is Interrupted
/// (Ctrl-C) or Error (the device is lost, the disk is full), and what is stored by then stays.
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

  /// What was done so far; complete after run(), and meaningful after it threw.
  const SweepReport& report() const { return report_; }

 private:
  using Clock = std::chrono::steady_clock;

  /// One correct configuration of the op at hand.
  struct Measured {
    const KernelSpec* kernel = nullptr;
    Config config;
    double median_ns = 0;
    bool censored = false;
    CompileReport compile;
  };

  void run_all();
  void run_problem(const std::string& op, const Problem& problem);
  std::optional<double> measure_baselines(const KernelSpec& kernel, const Problem& problem);
  void screen(const KernelSpec& kernel, const Problem& problem, std::vector<Measured>& correct);
  TrialRecord run_trial(const KernelSpec& kernel, TrialKey key, const CompileResult& compiled,
                        std::optional<double> best_ns);
  void rank(const std::string& op, const Problem& problem, std::vector<Measured> correct);

  CompileJob compile_job(const KernelSpec& kernel, const Config& config) const;
  CompileResult wait_for(std::future<CompileResult>& future);
  TrialKey key_of(const KernelSpec& kernel, const Problem& problem, const Config& config) const;
  TrialRequest request_of(const KernelSpec& kernel, const Problem& problem, const Config& config,
                          const CompileResult& compiled) const;
  void settle(const TrialRecord& record, bool kept, const KernelSpec& kernel,
              std::vector<Measured>& correct);
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
