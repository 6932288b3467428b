#pragma once

#include <string>

#include "base/device_info.h"
#include "spec/sweep_spec.h"
#include "store/store.h"
#include "sweep_report.h"

namespace assay {

/// What the summary says in addition to the counts.
struct SweepSummary {
  const SweepSpec& sweep;
  const DeviceInfo& device;
  const std::string& provenance;  // empty when measured here
  bool compile_only = false;
};

/// Prints the winners per problem, what failed and why, and where the results are: tables on
/// stdout, or one JSON object. `error` is why the sweep ended early, for the JSON object; else
/// empty.
void print_summary(const SweepSummary& summary, const SweepReport& report, const Store& store,
                   bool json, const std::string& error = "");

}  // namespace assay
