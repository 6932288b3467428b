#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/device_info.h"
#include "spec/sweep_spec.h"
#include "store/store.h"
#include "tuner/progress.h"

namespace assay {

/// What the summary says in addition to the counts.
struct SweepSummary {
  const SweepSpec& sweep;
  const DeviceInfo& device;
  const std::string& provenance;  // empty when measured here
  bool compile_only;
  const std::string& sample;  // what the emulator found of a replay's kernels
};

/// Prints the winners per problem, what failed and why, and where the results are.
void print_summary(const SweepSummary& summary, const SweepReport& report, const Store& store);

/// The same as JSON. `error` is why the sweep ended early, or null.
nlohmann::ordered_json summary_json(const SweepSummary& summary, const SweepReport& report,
                                    const Store& store, const char* error);

}  // namespace assay
