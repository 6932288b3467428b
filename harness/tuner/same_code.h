#pragma once

#include <vector>

#include "base/device_info.h"
#include "ranking/verdict.h"

namespace assay {

/// Whether a worker would be asked for the same trial: the configurations, which are both of
/// `kernel`, have the same machine code, and it is launched alike, on the same arguments. Nothing
/// but the configuration's text may differ in their plans.
bool is_same_code(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device,
                  const Config& a, const std::string& cubin_hash_a, const Config& b,
                  const std::string& cubin_hash_b);

/// Of the candidates that are the same code one stays: one that was run before those that took its
/// times over, else the fastest. Two names of one kernel are no two winners.
void keep_one_of_each_code(std::vector<Candidate>& correct, const Problem& problem,
                           const DeviceInfo& device);

}  // namespace assay
