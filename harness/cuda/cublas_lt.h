#pragma once

#include <cublasLt.h>

#include <string>

#include "base/error.h"
#include "base/library.h"

// Spelled as in the headers, see driver.h.
#define ASSAY_CUBLASLT_FUNCTIONS(X)       \
  X(cublasLtCreate)                       \
  X(cublasLtDestroy)                      \
  X(cublasLtGetVersion)                   \
  X(cublasLtGetStatusName)                \
  X(cublasLtMatmul)                       \
  X(cublasLtMatmulDescCreate)             \
  X(cublasLtMatmulDescDestroy)            \
  X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatrixLayoutCreate)           \
  X(cublasLtMatrixLayoutDestroy)          \
  X(cublasLtMatrixLayoutSetAttribute)     \
  X(cublasLtMatmulPreferenceCreate)       \
  X(cublasLtMatmulPreferenceDestroy)      \
  X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatmulAlgoGetHeuristic)

namespace assay {

/// What to do where cuBLAS is not found.
inline constexpr const char* kCublasAdvice =
    "install cuBLAS 12 or 13, set CUDA_HOME, or add its folder to LD_LIBRARY_PATH";

/// Throws Error that says where cuBLASLt was looked for.
Library open_cublas_lt(const LibraryFolders& folders);

/// A call of cuBLAS or cuBLASLt that failed.
struct CublasError : Error {
  using Error::Error;
};

/// cuBLASLt's functions, with one handle on the current context.
class CublasLt {
 public:
  /// Throws Error.
  explicit CublasLt(const LibraryFolders& folders);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  cublasLtHandle_t lt_handle() const { return lt_handle_; }

  /// "13.1.0"
  std::string version() const;

  /// Throws CublasError "CALL: CUBLAS_STATUS_NAME" unless `status` is success. cuBLAS has the same.
  void check(cublasStatus_t status, const char* call) const;

#define ASSAY_MEMBER(function) decltype(&::function) function = nullptr;
  ASSAY_CUBLASLT_FUNCTIONS(ASSAY_MEMBER)
#undef ASSAY_MEMBER

 private:
  Library lt_library_;
  cublasLtHandle_t lt_handle_ = nullptr;
};

}  // namespace assay
