#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>
#include <library_types.h>

#include <string>

#include "base/dtype.h"
#include "base/error.h"
#include "base/library.h"

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

#define ASSAY_CUBLAS_FUNCTIONS(X) \
  X(cublasCreate)                 \
  X(cublasDestroy)                \
  X(cublasSetStream)              \
  X(cublasSetMathMode)            \
  X(cublasGemmGroupedBatchedEx)

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
  using Self = CublasLt;
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

  ASSAY_CUBLASLT_FUNCTIONS(ASSAY_MEMBER)

 private:
  Library library_;
  cublasLtHandle_t lt_handle_ = nullptr;
};

/// cuBLAS's and cuBLASLt's functions, with one handle of each on the current context. cuBLASLt is
/// the base, and loaded first: cuBLAS needs it, and then finds it loaded whatever the search path.
class Cublas : public CublasLt {
 public:
  using Self = Cublas;
  /// Throws Error that says which libraries were looked for.
  Cublas();
  ~Cublas();

  cublasHandle_t handle() const { return handle_; }

  ASSAY_CUBLAS_FUNCTIONS(ASSAY_MEMBER)

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

/// cuBLAS's name for a dtype that a matrix can have (bf16, f16, f32, f64, e4m3, e5m2, i8,
/// i32).
constexpr cudaDataType_t cuda_type(DType dtype) {
  if (dtype == DType::bf16) return CUDA_R_16BF;
  if (dtype == DType::f16) return CUDA_R_16F;
  if (dtype == DType::f64) return CUDA_R_64F;
  if (dtype == DType::e4m3) return CUDA_R_8F_E4M3;
  if (dtype == DType::e5m2) return CUDA_R_8F_E5M2;
  if (dtype == DType::i8) return CUDA_R_8I;
  if (dtype == DType::i32) return CUDA_R_32I;
  return CUDA_R_32F;
}

}  // namespace assay
