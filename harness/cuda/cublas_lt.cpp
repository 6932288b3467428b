#include "cuda/cublas_lt.h"

#include <fmt/format.h>

namespace assay {

#define ASSAY_TEXT(x) #x

Library open_cublas_lt(const LibraryFolders& folders) {
  return {"cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"}, folders, kCublasAdvice};
}

CublasLt::CublasLt(const LibraryFolders& folders) : lt_library_(open_cublas_lt(folders)) {
#define ASSAY_LOAD(function) lt_library_.load(function, ASSAY_TEXT(function));
  ASSAY_CUBLASLT_FUNCTIONS(ASSAY_LOAD)
#undef ASSAY_LOAD
#undef ASSAY_TEXT
  check(cublasLtCreate(&lt_handle_), "cublasLtCreate");
}

CublasLt::~CublasLt() { static_cast<void>(cublasLtDestroy(lt_handle_)); }

void CublasLt::check(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw CublasError(fmt::format("{}: {}", call, cublasLtGetStatusName(status)));
}

std::string CublasLt::version() const {
  const std::size_t number = cublasLtGetVersion();  // 10000 x major + 100 x minor + patch
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

}  // namespace assay
