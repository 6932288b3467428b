#include "cuda/cublas.h"

namespace assay {

#define ASSAY_TEXT(x) #x
#define ASSAY_EXPORTED(x) ASSAY_TEXT(x)

Cublas::Cublas()
    : CublasLt(toolkit_libraries()),
      library_("cuBLAS", {"libcublas.so.13", "libcublas.so.12"}, toolkit_libraries(),
               kCublasAdvice) {
#define ASSAY_LOAD(function) library_.load(function, ASSAY_EXPORTED(function));
  ASSAY_CUBLAS_FUNCTIONS(ASSAY_LOAD)
#undef ASSAY_LOAD
#undef ASSAY_EXPORTED
#undef ASSAY_TEXT
  library_.load(gemm_ex, "cublasGemmEx");
  check(cublasCreate(&handle_), "cublasCreate");
}

Cublas::~Cublas() { static_cast<void>(cublasDestroy(handle_)); }

}  // namespace assay
