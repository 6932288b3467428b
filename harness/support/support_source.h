#pragma once

#include <string>

namespace assay {

/// The text of support/support.cu, which the parent compiles for the GPU at hand before a worker's
/// setup.
const std::string& support_source();

}  // namespace assay
