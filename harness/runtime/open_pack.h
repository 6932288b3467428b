#pragma once

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "cuda/cublas.h"
#include "cuda/handles.h"
#include "pack/pack.h"
#include "runtime/tuned_plan.h"

namespace assay {

/// The problems that a program asked for, as lines "gemm_bf16 M=16,N=4096,K=4096" of the file that
/// $ASSAY_LOG_SIZES names. `assay sweep --sizes` reads the file.
class ProblemLog {
 public:
  /// Throws Refusal for a file that cannot be written.
  ProblemLog();

  /// Appends a line that was not there yet. A line that cannot be written is lost: a log is no
  /// reason to end a program.
  void add(std::string_view op, const Problem& problem);

 private:
  UniqueFd fd_;  // none: there is no log
  std::mutex mutex_;
  std::set<std::string> lines_;
};

/// A pack with the plans that were made of it, and the code that they loaded. Threads share it.
class OpenPack {
 public:
  /// Throws UsageError, and Refusal for a log that cannot be written.
  explicit OpenPack(const std::string& path);
  OpenPack(const OpenPack&) = delete;
  OpenPack& operator=(const OpenPack&) = delete;
  ~OpenPack();

  const Pack& pack() const { return file_.pack(); }

  /// Chooses, or remembers, what to launch. Throws Refusal, or Error without a driver.
  std::shared_ptr<TunedPlan> plan(const assay_request& request);

  /// Loads the plan's code once. Throws Refusal while a capture is active, UsageError for a damaged
  /// pack, Failure or CudaError.
  void load(TunedPlan& plan, CUstream stream);

 private:
  struct Gpu {
    CUdevice device = 0;
    CUcontext context = nullptr;  // the primary one, retained
    DeviceInfo info;
  };

  const Driver& driver();
  const Gpu& gpu(CUdevice device);
  /// Whether there is a cuBLASLt. Looks for it once, where one is first wanted.
  bool has_cublas();
  std::shared_ptr<TunedPlan> choose_plan(const assay_request& request, CUdevice device);

  PackFile file_;
  std::map<std::string, std::vector<std::string>> arguments_;  // of each op, in order
  ProblemLog log_;
  std::once_flag driver_loaded_;
  std::optional<Driver> driver_;
  std::exception_ptr no_driver_;  // why there is none
  std::once_flag cublas_looked_for_;
  bool has_cublas_ = false;
  std::shared_mutex plans_mutex_;
  std::unordered_map<std::string, std::shared_ptr<TunedPlan>> plans_;  // by all of a request
  std::mutex mutex_;                                                   // of what follows
  std::map<CUdevice, Gpu> gpus_;
  std::map<CUdevice, CublasLt> cublas_;
  /// Plans share code, but those with variables do not: null, or the plan.
  std::map<std::tuple<CUdevice, const PackCode*, const TunedPlan*>, Module> modules_;
};

}  // namespace assay
