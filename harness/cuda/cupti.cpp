#include "cuda/cupti.h"

namespace assay {

Cupti::Cupti()
    : library_("CUPTI", {"libcupti.so.13", "libcupti.so.12"},
               toolkit_libraries("extras/CUPTI/lib64"),
               "install CUPTI of CUDA 12.8 or later, set CUDA_HOME, or add its folder to "
               "LD_LIBRARY_PATH") {
  ASSAY_CUPTI_FUNCTIONS(ASSAY_LOAD)
}

void Cupti::check(CUptiResult result, const char* call) const {
  if (result == CUPTI_SUCCESS) return;
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) {
    throw Error(
        "the driver lets only administrators count; run as root, or have one load it with the "
        "option NVreg_RestrictProfilingToAdminUsers=0");
  }
  if (result == CUPTI_ERROR_HARDWARE_BUSY) {
    throw Error("another process counts on this GPU; try again when it has ended");
  }
  const char* text = nullptr;
  if (cuptiGetResultString.result(result, &text) != CUPTI_SUCCESS || text == nullptr)
    text = "unknown";
  throw Error("{}: {}", call, text);
}

}  // namespace assay
