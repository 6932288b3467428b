#include "cuda/cublas.h"

#include <fmt/format.h>

namespace assay {
namespace {

#define ASSAY_TEXT(x) #x
#define ASSAY_EXPORTED(x) ASSAY_TEXT(x)

constexpr const char* kCublasAdvice =
    "install cuBLAS 12 or 13, set CUDA_HOME, or add its folder to LD_LIBRARY_PATH";

}  // namespace

Cublas::Cublas()
    : lt_library_("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"}, toolkit_libraries(),
                  kCublasAdvice),
      library_("cuBLAS", {"libcublas.so.13", "libcublas.so.12"}, toolkit_libraries(),
               kCublasAdvice) {
#define ASSAY_LOAD(function) library_.load(function, ASSAY_EXPORTED(function));
  ASSAY_CUBLAS_FUNCTIONS(ASSAY_LOAD)
#undef ASSAY_LOAD
#define ASSAY_LOAD(function) lt_library_.load(function, ASSAY_EXPORTED(function));
  ASSAY_CUBLASLT_FUNCTIONS(ASSAY_LOAD)
#undef ASSAY_LOAD
  library_.load(gemm_ex, "cublasGemmEx");
  check(cublasCreate(&handle_), "cublasCreate");
  const cublasStatus_t status = cublasLtCreate(&lt_handle_);
  if (status != CUBLAS_STATUS_SUCCESS) static_cast<void>(cublasDestroy(handle_));
  check(status, "cublasLtCreate");
}

Cublas::~Cublas() {
  static_cast<void>(cublasLtDestroy(lt_handle_));
  static_cast<void>(cublasDestroy(handle_));
}

void Cublas::check(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(fmt::format("{}: {}", call, cublasGetStatusName(status)));
}

std::string Cublas::version() const {
  const std::size_t number = cublasLtGetVersion();  // 10000 x major + 100 x minor + patch
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

}  // namespace assay
