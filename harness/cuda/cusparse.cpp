#include "cuda/cusparse.h"

#include <fmt/format.h>

namespace assay {
namespace {

#define ASSAY_TEXT(x) #x
#define ASSAY_EXPORTED(x) ASSAY_TEXT(x)

}  // namespace

Cusparse::Cusparse()
    : library_("cuSPARSE", {"libcusparse.so.12"}, toolkit_libraries(),
               "install cuSPARSE 12, set CUDA_HOME, or add its folder to LD_LIBRARY_PATH") {
#define ASSAY_LOAD(function) library_.load(function, ASSAY_EXPORTED(function));
  ASSAY_CUSPARSE_FUNCTIONS(ASSAY_LOAD)
#undef ASSAY_LOAD
  check(cusparseCreate(&handle_), "cusparseCreate");
}

Cusparse::~Cusparse() { static_cast<void>(cusparseDestroy(handle_)); }

void Cusparse::check(cusparseStatus_t status, const char* call) const {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  throw Error(fmt::format("{}: {}", call, cusparseGetErrorName(status)));
}

}  // namespace assay
