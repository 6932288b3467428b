#include "cuda/cusparse.h"

namespace assay {

Cusparse::Cusparse()
    : library_("cuSPARSE", {"libcusparse.so.12"}, toolkit_libraries(),
               "install cuSPARSE 12, set CUDA_HOME, or add its folder to LD_LIBRARY_PATH") {
  ASSAY_CUSPARSE_FUNCTIONS(ASSAY_LOAD)
  cusparseCreate(&handle_);
}

Cusparse::~Cusparse() { static_cast<void>(cusparseDestroy.result(handle_)); }

void Cusparse::check(cusparseStatus_t status, const char* call) const {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  throw Error("{}: {}", call, cusparseGetErrorName(status));
}

}  // namespace assay
