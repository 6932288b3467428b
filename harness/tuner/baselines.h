#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/sweep_run.h"

namespace assay {

/// What users would run instead of the kernels of an op: it is timed ahead of the screening, and
/// again in the re-rank.
class Baselines {
 public:
  explicit Baselines(SweepRun& run) : run_(run) {}

  /// Times those that the contracts of the op's kernels name and that have no stored time, and
  /// returns the fastest time. The first kernel that names one and has a configuration for the
  /// problem gives inputs and shapes. One that is wrong is named in the report. Throws UsageError
  /// if two kernels mean different ones by one name.
  std::optional<double> measure(const Question& asked,
                                const std::vector<const KernelSpec*>& kernels);

  /// What a verdict on these kernels has for its baselines: see identity_of.
  std::vector<std::string> identities(const std::vector<const KernelSpec*>& kernels) const;
  /// The names of those that take part in a re-rank of the op and problem last measured.
  std::vector<std::string> runnable(const std::vector<std::string>& identities) const;
  /// The steps of those that have some.
  const std::vector<BaselinePlan>& plans() const { return plans_; }

  const std::string& cublas_version();

 private:
  /// A baseline of a kernel's contract.
  struct KernelBaseline {
    const KernelSpec* kernel;
    const BaselineSpec* spec;
    std::string identity;
  };

  std::vector<KernelBaseline> of(const std::vector<const KernelSpec*>& kernels) const;
  std::optional<TrialRequest> first_request(const KernelSpec& kernel, const Problem& problem);
  std::optional<double> stored_ns(const Question& asked, const KernelBaseline& baseline);
  std::vector<BaselineTiming> time(const TrialRequest& request, const std::string& op,
                                   const KernelBaseline& baseline);

  SweepRun& run_;
  std::vector<std::string> names_;
  std::vector<BaselinePlan> plans_;
  std::optional<std::string> cublas_version_;  // once it was asked for
};

}  // namespace assay
