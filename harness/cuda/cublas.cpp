#include "cuda/cublas.h"

#include <fmt/format.h>

namespace assay {

Library open_cublas_lt(const LibraryFolders& folders) {
  return {"cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"}, folders, kCublasAdvice};
}

CublasLt::CublasLt(const LibraryFolders& folders) : library_(open_cublas_lt(folders)) {
  ASSAY_CUBLASLT_FUNCTIONS(ASSAY_LOAD)
  cublasLtCreate(&lt_handle_);
}

CublasLt::~CublasLt() { static_cast<void>(cublasLtDestroy.result(lt_handle_)); }

void CublasLt::check(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw CublasError("{}: {}", call, cublasLtGetStatusName(status));
}

std::string CublasLt::version() const {
  const std::size_t number = cublasLtGetVersion();  // 10000 x major + 100 x minor + patch
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

Cublas::Cublas()
    : CublasLt(toolkit_libraries()),
      library_("cuBLAS", {"libcublas.so.13", "libcublas.so.12"}, toolkit_libraries(),
               kCublasAdvice) {
  ASSAY_CUBLAS_FUNCTIONS(ASSAY_LOAD)
  library_.load(gemm_ex, "cublasGemmEx");
  cublasCreate(&handle_);
}

Cublas::~Cublas() { static_cast<void>(cublasDestroy.result(handle_)); }

}  // namespace assay
