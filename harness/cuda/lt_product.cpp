#include "cuda/lt_product.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "cuda/cublas.h"

namespace assay {
namespace {

// More than the heuristic has ever returned (8 on an H200).
constexpr int kMaxAlgorithms = 32;

/// The type of the factors of a product that is computed so.
cudaDataType_t scale_type(cublasComputeType_t compute) {
  if (compute == CUBLAS_COMPUTE_64F) return CUDA_R_64F;
  return compute == CUBLAS_COMPUTE_32I ? CUDA_R_32I : CUDA_R_32F;
}

/// A factor in one of these types.
using Scalar = std::array<std::byte, sizeof(double)>;

Scalar scalar(int value, cudaDataType_t type) {
  Scalar made{};
  const auto as = [&](auto number) { std::memcpy(made.data(), &number, sizeof number); };
  if (type == CUDA_R_64F) {
    as(static_cast<double>(value));
  } else if (type == CUDA_R_32I) {
    as(std::int32_t{value});
  } else {
    as(static_cast<float>(value));
  }
  return made;
}

}  // namespace

LtProduct::LtProduct(const CublasLt& cublas, const LtShape& shape, cublasComputeType_t compute)
    : cublas_(&cublas),
      operation_(nullptr, cublas.cublasLtMatmulDescDestroy.address),
      first_(nullptr, cublas.cublasLtMatrixLayoutDestroy.address),
      second_(nullptr, cublas.cublasLtMatrixLayoutDestroy.address),
      out_(nullptr, cublas.cublasLtMatrixLayoutDestroy.address),
      scale_(scale_type(compute)) {
  // Column-major: out^T = b^T @ a^T, each matrix seen transposed.
  cublasLtMatmulDesc_t operation = nullptr;
  cublas.cublasLtMatmulDescCreate(&operation, compute, scale_);
  operation_.reset(operation);
  const cublasOperation_t op_first = shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t op_second = shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  set(CUBLASLT_MATMUL_DESC_TRANSA, op_first);
  set(CUBLASLT_MATMUL_DESC_TRANSB, op_second);
  first_ = make_layout(shape.b, shape.batch);
  second_ = make_layout(shape.a, shape.batch);
  out_ = make_layout(shape.out, shape.batch);
}

LtProduct::Layout LtProduct::make_layout(const LtShape::Matrix& matrix, std::int64_t batch) const {
  cublasLtMatrixLayout_t layout = nullptr;
  // Its rows are the columns of what is seen transposed.
  cublas_->cublasLtMatrixLayoutCreate(&layout, cuda_type(matrix.dtype),
                                      static_cast<std::uint64_t>(matrix.columns),
                                      static_cast<std::uint64_t>(matrix.rows), matrix.columns);
  Layout made(layout, cublas_->cublasLtMatrixLayoutDestroy.address);
  if (batch == 1) return made;
  const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
    cublas_->cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value);
  };
  set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
  set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.rows * matrix.columns);
  return made;
}

std::vector<cublasLtMatmulHeuristicResult_t> LtProduct::algorithms(std::uint32_t alignment) const {
  cublasLtMatmulPreference_t made = nullptr;
  cublas_->cublasLtMatmulPreferenceCreate(&made);
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t,
                        decltype(&::cublasLtMatmulPreferenceDestroy)>
      preference(made, cublas_->cublasLtMatmulPreferenceDestroy.address);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    cublas_->cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value,
                                                  sizeof value);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  if (alignment != kAlignment) {
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      prefer(attribute, alignment);
    }
  }
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms(kMaxAlgorithms);
  int found = 0;
  cublas_->cublasLtMatmulAlgoGetHeuristic(cublas_->lt_handle(), operation_.get(), first_.get(),
                                          second_.get(), out_.get(), out_.get(), preference.get(),
                                          kMaxAlgorithms, algorithms.data(), &found);
  algorithms.resize(static_cast<std::size_t>(found));
  return algorithms;
}

void LtProduct::enqueue(const cublasLtMatmulAlgo_t& algorithm, CUdeviceptr a, CUdeviceptr b,
                        CUdeviceptr out, CUdeviceptr workspace, std::size_t workspace_bytes,
                        CUstream stream) const {
  const Scalar one = scalar(1, scale_), zero = scalar(0, scale_);
  cublas_->cublasLtMatmul(
      cublas_->lt_handle(), operation_.get(), &one, reinterpret_cast<const void*>(b), first_.get(),
      reinterpret_cast<const void*>(a), second_.get(), &zero, reinterpret_cast<const void*>(out),
      out_.get(), reinterpret_cast<void*>(out), out_.get(), &algorithm,
      reinterpret_cast<void*>(workspace), workspace_bytes, stream);
}

}  // namespace assay
