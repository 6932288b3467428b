#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>

#include <string>

#include "base/error.h"
#include "base/library.h"

// Spelled as in the headers, see driver.h.
#define ASSAY_CUBLAS_FUNCTIONS(X) \
  X(cublasCreate)                 \
  X(cublasDestroy)                \
  X(cublasSetStream)              \
  X(cublasSetMathMode)            \
  X(cublasGemmGroupedBatchedEx)   \
  X(cublasGetStatusName)

#define ASSAY_CUBLASLT_FUNCTIONS(X)       \
  X(cublasLtCreate)                       \
  X(cublasLtDestroy)                      \
  X(cublasLtGetVersion)                   \
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

/// cuBLAS's and cuBLASLt's functions, with one handle of each on the current context.
class Cublas {
 public:
  /// Throws Error that says which libraries were looked for.
  Cublas();
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  cublasHandle_t handle() const { return handle_; }
  cublasLtHandle_t lt_handle() const { return lt_handle_; }

  /// "13.1.0", of cuBLASLt.
  std::string version() const;

  /// Throws Error "CALL: CUBLAS_STATUS_NAME" unless `status` is success.
  void check(cublasStatus_t status, const char* call) const;

#define ASSAY_MEMBER(function) decltype(&::function) function = nullptr;
  ASSAY_CUBLAS_FUNCTIONS(ASSAY_MEMBER)
  ASSAY_CUBLASLT_FUNCTIONS(ASSAY_MEMBER)
#undef ASSAY_MEMBER

  /// cublasGemmEx: overloaded in the header, so its form is written out.
  cublasStatus_t (*gemm_ex)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n,
                            int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                            const void* b, cudaDataType b_type, int ldb, const void* beta, void* c,
                            cudaDataType c_type, int ldc, cublasComputeType_t,
                            cublasGemmAlgo_t) = nullptr;

 private:
  // cublasLt first: cublas needs it, and then finds it loaded whatever the search path.
  Library lt_library_;
  Library library_;
  cublasHandle_t handle_ = nullptr;
  cublasLtHandle_t lt_handle_ = nullptr;
};

}  // namespace assay
