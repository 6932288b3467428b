#pragma once

#include <vector>

#include "spec/kernel_spec.h"
#include "store/store.h"

namespace assay {

/// The configurations of the kernel, of any version and on any device, that were fastest for the
/// nearest problems, which begin with the problem itself: first the best for each, then the second
/// best for each. A search may try them first.
std::vector<Config> known_winners(const Store& store, const KernelSpec& kernel,
                                  const Problem& problem);

}  // namespace assay
