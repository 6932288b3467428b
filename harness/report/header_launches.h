#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/device_info.h"
#include "spec/kernel_spec.h"

namespace assay {

/// A kernel of a table: its name in the header, and its contract, null where none is at hand.
struct HeaderKernel {
  std::string name;
  const KernelSpec* contract = nullptr;
};

/// num_launches() and launch() of a header: entry, grid, block, cluster and shared memory of each
/// launch as functions of the sizes. `dims` and `params` say what the header calls the members of
/// Problem and Config.
std::string launches_text(const std::vector<HeaderKernel>& kernels, const DeviceInfo& device,
                          const std::map<std::string, std::string>& dims,
                          const std::map<std::string, std::string>& params);

}  // namespace assay
