#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/trial.h"
#include "base/value.h"

namespace assay {

/// The version of a kernel that a result belongs to.
struct KernelVersion {
  std::string name;
  std::string op;
  std::string source_hash;    // the .cu and every header it includes; also the reference's own
  std::string contract_hash;  // KernelSpec::contract_hash
  bool operator==(const KernelVersion&) const = default;
};

/// The software that a result was compiled and measured with.
struct Toolchain {
  std::string nvrtc;    // "13.0"
  std::string arch;     // "90a"
  std::string options;  // NVRTC's, without -D
  std::string driver;   // "580.159.04"
  bool operator==(const Toolchain&) const = default;
};

/// How a time was taken. Times of different protocols are never compared.
struct Protocol {
  std::string name = "cold";
  double precision_ratio = 0.005;
  bool operator==(const Protocol&) const = default;
};

/// A figure of a trial beside its time, such as a hardware counter. `unit` is empty for a count.
struct Measurement {
  std::string name;
  double value = 0;
  std::string unit;
  bool operator==(const Measurement&) const = default;
};

/// What `assay verify` found of a trial's configuration, and with which software.
struct Verification {
  std::vector<VerificationCheck> checks;
  Toolchain toolchain;
  std::string finished_at;  // UTC, as of a trial

  /// The first check that failed; null when none did.
  const VerificationCheck* failure() const {
    for (const VerificationCheck& check : checks) {
      if (check.result == CheckResult::failed) return &check;
    }
    return nullptr;
  }
  bool operator==(const Verification&) const = default;
};

/// What a trial is keyed by, so that nothing measured under other conditions is ever reused.
struct TrialKey {
  KernelVersion kernel;
  Toolchain toolchain;
  Protocol protocol;
  Problem problem;
  Config config;
};

/// One finished trial with everything that identifies it.
struct TrialRecord : TrialKey {
  CompileReport compile;
  Outcome outcome;
  std::string finished_at;  // UTC, "2026-11-21T10:00:00Z"
  std::vector<Measurement> measurements = {};
  std::optional<Verification> verification = {};  // the newest
};

/// A baseline's time for one op and problem.
struct BaselineRecord {
  std::string op;
  Problem problem;
  Protocol protocol;
  Toolchain toolchain;
  std::string name;    // "cublaslt_best"
  std::string detail;  // "algorithm 2 of 8"
  Timing timing;
  std::string finished_at;
  std::string cublas = {};         // version, "13.1.0.3"; empty when not known
  std::string contract_hash = {};  // of the kernel whose contract gave inputs and shapes
};

}  // namespace assay
