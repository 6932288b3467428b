#pragma once

#include <string>

namespace assay {

/// How many GPUs the driver reports, found out in a short-lived child process, because the parent
/// never touches CUDA; 0 without a driver, and then `reason` says why in a sentence.
int count_gpus(std::string& reason);

}  // namespace assay
