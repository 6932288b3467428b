#pragma once

#include <functional>
#include <string>

#include "device/gpu_device.h"
#include "tuner/sweep_run.h"

namespace assay {

/// Checks configurations once more and harder than a sweep does: see worker/verify.h. All is done
/// on the problem, and on a small one of odd sizes: see small_problem. There compute-sanitizer's
/// tools look on, too, where the CUDA toolkit has them.
class Verifier {
 public:
  struct Counts {
    int seeds = 16;
    int launches = 1000;
    bool sanitizes = true;  // compute-sanitizer's tools look on, too
  };
  using Tell = std::function<void(const VerificationCheck&)>;

  /// `run` has the kernels' versions; its device is `gpu`.
  Verifier(SweepRun& run, GpuDevice& gpu, Counts counts) : run_(run), gpu_(gpu), counts_(counts) {}

  /// Tells each check when it is done. What a configuration does wrong is a check that failed.
  /// Throws Interrupted, and Error when the device is lost.
  Verification verify(const KernelSpec& kernel, const Problem& problem, const Config& config,
                      const Tell& tell);

 private:
  /// What is checked, and on which sizes.
  struct Subject {
    const KernelSpec& kernel;
    const Config& config;
    Problem problem;
    std::string prefix;   // of the checks' names
    std::string why_not;  // it cannot run, if so
    std::string note;     // that each check ends with

    VerificationCheck noted(VerificationCheck check) const;
  };
  using Add = std::function<void(VerificationCheck)>;

  void check(const Subject& subject, const CompileResult& compiled, const Add& add);
  void sanitize(const Subject& subject, const CompileResult& compiled, const Add& add);

  SweepRun& run_;
  GpuDevice& gpu_;
  Counts counts_;
};

}  // namespace assay
