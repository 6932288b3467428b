#pragma once

#include <string>

namespace assay {

/// The text of support.cu, which is support/*.cu put together. The parent compiles it for the GPU
/// at hand before a worker's setup.
const std::string& support_source();

}  // namespace assay
