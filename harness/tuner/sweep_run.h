#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compile/compiler.h"
#include "device/device.h"
#include "ranking/verdict.h"
#include "spec/sweep_spec.h"
#include "store/store.h"
#include "tuner/progress.h"

namespace assay {

/// One run of a sweep: what the stages of the pipeline share.
struct SweepRun {
  struct Options {
    std::vector<std::filesystem::path> include_directories;  // of the kernels' common headers
    std::string arch;                                        // "90a"
    std::string command_line;                                // as kept with the sweep
    std::filesystem::path kernel_directory;  // of kernels that other sweeps have tried
    std::string provenance = {};             // of the results; empty when measured here
    bool compile_only = false;               // the device is nominal: no times, no ranks
    bool retry_failed = false;               // tries every stored trial that failed again
    bool cold_start = false;                 // tries no other problem's winners first
    std::vector<KernelSpec> others = {};     // of which the store may have trials, too
  };

  const SweepSpec& sweep;
  Device& device;
  Compiler& compiler;
  Store& store;
  Progress& progress;
  Options options;
  SweepReport report = {};
  std::map<std::string, KernelVersion> versions = {};  // by kernel name
  std::int64_t id = 0;                                 // the store's
  std::chrono::steady_clock::time_point started = {};
  /// The compiled kernels of the user's own, by kernel name and problem: see own_kernels().
  std::map<std::pair<std::string, std::string>, std::vector<CompileResult>> references = {};

  /// The points that were drawn of a space that is too large to be listed, or in the replay of a
  /// search those that were recorded, by kernel name and problem.
  std::map<std::pair<std::string, std::string>, std::vector<std::vector<int>>> drawn = {};

  /// Whether the device is a recording, which answers for itself: it says what it said before,
  /// so nothing is tried twice, and what it was never asked has no answer.
  bool is_replay() const { return !options.provenance.empty(); }
  /// What this run asks about an op and a problem.
  Question question(const std::string& op, const Problem& problem) const {
    return {op, problem, device.info(), sweep.measure.protocol, options.provenance};
  }
  /// What the store is asked for results of an op and a problem.
  static Filter filter(const std::string& op, const Problem& problem);
  static Filter filter(const Question& asked) { return filter(asked.op, asked.problem); }

  /// Those, or null where the space is listed.
  const std::vector<std::vector<int>>* drawn_points(const KernelSpec& kernel,
                                                    const Problem& problem) const;
  /// The first configuration of a space.
  std::optional<Config> first_config(const KernelSpec& kernel, const Problem& problem) const;
  TrialKey key_of(const KernelSpec& kernel, const Problem& problem, const Config& config) const;
  CompileJob compile_job(const KernelSpec& kernel, const Problem& problem,
                         const Config& config) const;
  /// `compiled` may be empty for a request that launches no kernel of ours. Throws PlanError when
  /// the contract has no meaning for the configuration, SpecError when a kernel of its reference
  /// does not compile or has other parameters.
  TrialRequest request_of(const KernelSpec& kernel, const Problem& problem, const Config& config,
                          const CompileResult& compiled);
  /// The steps of a baseline of the kernel, whose plan `plan` is, with its kernels compiled. Throws
  /// like request_of.
  BaselinePlan baseline_plan(const KernelSpec& kernel, const BaselineSpec& baseline,
                             const Plan& plan);
  /// A correct trial that was timed, with the figures that the sweep's objective reads.
  Candidate candidate(const KernelSpec& kernel, const TrialRecord& trial) const;
  /// Has the GPU count what the objective reads and a correct trial lacks, adds it to the trial and
  /// returns it. Where that fails the trial stays without, and the report has a warning. `compiled`
  /// is null if the kernel is still to be compiled. Throws Interrupted.
  std::vector<Measurement> count_for_objective(const KernelSpec& kernel, TrialRecord& trial,
                                               const CompileResult* compiled);
  /// Waits for the compiler. Throws Interrupted.
  CompileResult compile(const KernelSpec& kernel, const Problem& problem, const Config& config);
  CompileResult compile(CompileJob job);
  /// Runs one configuration, with the detail of whatever goes wrong as its outcome, and counts what
  /// the objective reads. `best_ns` is as in TrialRequest.
  TrialRecord try_config(const KernelSpec& kernel, const TrialKey& key,
                         const CompileResult& compiled, std::optional<double> best_ns);
};

/// A run on behalf of no sweep, which shows no progress.
struct LoneRun {
  LoneRun(Device& device, Compiler& compiler, Store& store, SweepRun::Options options)
      : run{sweep, device, compiler, store, progress, std::move(options)} {}
  LoneRun(const LoneRun&) = delete;

  SweepSpec sweep = {};
  Progress progress{Progress::Mode::silent};
  SweepRun run;
};

/// UTC, as results are stamped: "2026-11-21T10:00:00Z".
std::string now_utc();
/// When it was measured: as a replay says, else now.
std::string recorded_or_now(const std::string& recorded_at);

}  // namespace assay
