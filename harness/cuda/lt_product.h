#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/dtype.h"
#include "cuda/cublas.h"
#include "cuda/driver.h"

namespace assay {

/// out = a @ b of row-major matrices, or of stacks of them, each factor as it is or transposed.
struct LtShape {
  struct Matrix {
    DType dtype = DType::f32;
    std::int64_t rows = 0, columns = 0;
  };
  Matrix a, b, out;
  std::int64_t batch = 1;
  bool transpose_a = false, transpose_b = false;
};

/// A product as cuBLASLt is asked for it.
class LtProduct {
 public:
  /// NVIDIA's own recommendation for Hopper. Every algorithm is asked for, and timed, with this
  /// much.
  static constexpr std::size_t kWorkspaceMib = 32;
  static constexpr std::size_t kWorkspaceBytes = kWorkspaceMib << 20;
  /// What cuBLASLt takes for granted of each address.
  static constexpr std::uint32_t kAlignment = 256;

  LtProduct(const CublasLt& cublas, const LtShape& shape,
            cublasComputeType_t compute = CUBLAS_COMPUTE_32F);

  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    cublas_->cublasLtMatmulDescSetAttribute(operation_.get(), attribute, &value, sizeof value);
  }

  /// What the heuristic offers, its first choice first, for addresses that are multiples of
  /// `alignment`.
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms(
      std::uint32_t alignment = kAlignment) const;

  /// Throws Error.
  void enqueue(const cublasLtMatmulAlgo_t& algorithm, CUdeviceptr a, CUdeviceptr b, CUdeviceptr out,
               CUdeviceptr workspace, std::size_t workspace_bytes, CUstream stream) const;

 private:
  using Description =
      std::unique_ptr<cublasLtMatmulDescOpaque_t, decltype(&::cublasLtMatmulDescDestroy)>;
  using Layout =
      std::unique_ptr<cublasLtMatrixLayoutOpaque_t, decltype(&::cublasLtMatrixLayoutDestroy)>;

  Layout make_layout(const LtShape::Matrix& matrix, std::int64_t batch) const;

  const CublasLt* cublas_;
  Description operation_;
  Layout first_;  // column-major: b, then a, then out
  Layout second_;
  Layout out_;
  cudaDataType_t scale_;
};

}  // namespace assay
