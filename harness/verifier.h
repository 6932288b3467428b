#pragma once

#include <functional>

#include "device/gpu_device.h"
#include "sweep_run.h"

namespace assay {

/// Checks configurations once more and harder than a sweep does: see worker/verify.h. All is done
/// on the problem, and on the kernel's smoke problem, whose sizes are odd. There
/// compute-sanitizer's tools look on, too, where the CUDA toolkit has them.
class Verifier {
 public:
  struct Counts {
    int seeds = 16;
    int launches = 1000;
  };
  using Tell = std::function<void(const VerificationCheck&)>;

  /// `run` has the kernels' versions; its device is `gpu`.
  Verifier(SweepRun& run, GpuDevice& gpu, Counts counts) : run_(run), gpu_(gpu), counts_(counts) {}

  /// Tells each check when it is done. What a configuration does wrong is a check that failed.
  /// Throws Interrupted, and Error when the device is lost.
  Verification verify(const KernelSpec& kernel, const Problem& problem, const Config& config,
                      const Tell& tell);

 private:
  void sanitize(const KernelSpec& kernel, const Config& config, const CompileResult& compiled,
                const std::function<void(VerificationCheck)>& add);

  SweepRun& run_;
  GpuDevice& gpu_;
  Counts counts_;
};

}  // namespace assay
