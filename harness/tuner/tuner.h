#pragma once

#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/baselines.h"
#include "tuner/problem_queue.h"
#include "tuner/reranking.h"
#include "tuner/sweep_run.h"

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

  /// All problems of the sweep, in its order.
  void run();
  /// Takes problems from `problems` until none is left; a problem that fails is given back. `gpu`
  /// numbers this GPU among several that take from `problems`.
  void run(ProblemQueue& problems, std::optional<std::size_t> gpu);
  /// Reserves the problems of which the store has trials of this device for it, as `gpu`.
  void reserve(ProblemQueue& problems, std::size_t gpu) const;

  const DeviceInfo& device() const { return run_.device.info(); }
  std::size_t num_problems() const { return run_.sweep.problems.size(); }
  /// What was done so far. Complete after run(), and still right after run() threw.
  const SweepReport& report() const { return run_.report; }

 private:
  void run_all(ProblemQueue& problems, std::optional<std::size_t> gpu);
  void check_counters();
  std::vector<double> costs(const std::vector<const KernelSpec*>& kernels) const;
  void count_spaces(const std::vector<const KernelSpec*>& kernels);
  void count_space(const KernelSpec& kernel, const Problem& problem, double max_seconds);
  void answer(const Question& asked, std::vector<const KernelSpec*> kernels,
              const std::function<void()>& before_rerank);
  void compile_ahead(const std::vector<const KernelSpec*>& kernels, std::size_t next);

  SweepRun run_;
  /// Configurations to try, by kernel name and problem.
  std::map<std::pair<std::string, std::string>, std::size_t> num_configs_;
  std::size_t num_compiled_ahead_ = 0;  // problems, from the first on
  Baselines baselines_;                 // of the op and the problem under way
  Reranking reranking_;
};

/// How the part of one GPU in a sweep ended.
struct FleetEnd {
  std::exception_ptr failure;  // null when it did its part
  bool work_is_left = false;   // problems of the GPU's model that no other has done
};

/// Runs a sweep on several GPUs at once, a thread for each. `tuners` are of one sweep, and each has
/// a device and a store of its own. GPUs of one model share the problems, and what a GPU that fails
/// leaves goes to the others of its model. A GPU goes on with the problems that it has trials of.
/// Returns how each ended, in the order of `tuners`.
std::vector<FleetEnd> run_side_by_side(std::span<Tuner* const> tuners);

}  // namespace assay
