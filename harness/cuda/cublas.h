#pragma once

#include <cublas_v2.h>

#include "base/error.h"
#include "cuda/cublas_lt.h"

// Spelled as in the headers, see driver.h.
#define ASSAY_CUBLAS_FUNCTIONS(X) \
  X(cublasCreate)                 \
  X(cublasDestroy)                \
  X(cublasSetStream)              \
  X(cublasSetMathMode)            \
  X(cublasGemmGroupedBatchedEx)

namespace assay {

/// cuBLAS's and cuBLASLt's functions, with one handle of each on the current context. cuBLASLt is
/// the base, and loaded first: cuBLAS needs it, and then finds it loaded whatever the search path.
class Cublas : public CublasLt {
 public:
  /// Throws Error that says which libraries were looked for.
  Cublas();
  ~Cublas();

  cublasHandle_t handle() const { return handle_; }

#define ASSAY_MEMBER(function) decltype(&::function) function = nullptr;
  ASSAY_CUBLAS_FUNCTIONS(ASSAY_MEMBER)
#undef ASSAY_MEMBER

  /// cublasGemmEx: overloaded in the header, so its form is written out.
  cublasStatus_t (*gemm_ex)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n,
                            int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                            const void* b, cudaDataType b_type, int ldb, const void* beta, void* c,
                            cudaDataType c_type, int ldc, cublasComputeType_t,
                            cublasGemmAlgo_t) = nullptr;

 private:
  Library library_;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace assay
