#pragma once

#include <nlohmann/json.hpp>

#include "cli/include_path.h"
#include "cli/results.h"
#include "tuner/verifier.h"

namespace assay {

/// Without a folder of kernels they are looked for where the sweep of the first winner found them.
struct VerifyOptions : KernelFolders {
  ResultOptions results;
  int gpu = 0;
  Verifier::Counts counts = {};
  bool json = false;     // print nothing while verifying
  bool missing = false;  // only winners of this GPU that were not verified before
};

/// What was verified, {"winners": [..], "skipped": [..]}, and the exit code that says so.
struct VerifyReport {
  nlohmann::ordered_json document;
  int exit_code = 0;
};

/// Verifies the winners that the options name, and stores what was found. Throws UsageError when
/// there is no such database, and like Verifier::verify.
VerifyReport verify_winners(const VerifyOptions& options);

}  // namespace assay
