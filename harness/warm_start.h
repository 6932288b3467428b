#pragma once

#include <vector>

#include "spec/kernel_spec.h"
#include "store/store.h"

namespace assay {

/// The configurations of the kernel that were fastest for other problems, of any version and on any
/// device: first the best for each of the nearest problems, then the second best for each. A search
/// may try them first.
std::vector<Config> winners_elsewhere(const Store& store, const KernelSpec& kernel,
                                      const Problem& problem);

}  // namespace assay
