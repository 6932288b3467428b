#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/terminal.h"

namespace assay {

/// The samples as bars, one line a bin, in at most `bins` lines. Samples beyond the 99th percentile
/// share the last line. Otherwise one outlier would squeeze all others into the first.
/// Samples that are no finite numbers are counted in a note and left out.
std::string histogram(const std::vector<double>& samples_ns, std::size_t bins,
                      const Terminal& terminal = {});

}  // namespace assay
