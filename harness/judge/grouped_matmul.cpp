#include "judge/grouped_matmul.h"

#include <limits>

#include "cuda/cublas_types.h"
#include "judge/operations/gemm.h"

namespace assay {
namespace {

int to_int(std::int64_t value) {
  if (value > std::numeric_limits<int>::max()) {
    throw oracle_failure("grouped_gemm: a dimension is larger than 2147483647");
  }
  return static_cast<int>(value);
}

}  // namespace

GroupedMatmul::GroupedMatmul(const Driver& driver, OperationEngine& engine,
                             const OperationCall& call)
    : stream_(engine.stream()),
      cublas_(&engine.cublas()),
      type_(cuda_type(call.operand("a").dtype)),
      out_type_(cuda_type(call.operand("out").dtype)) {
  std::vector<CUdeviceptr> first_data, second_data, out_data;
  for (const OperationCall& product : products_of_groups(call, engine)) {
    const GemmShape gemm = gemm_shape(product);
    const int k = to_int(gemm.k), n = to_int(gemm.n);
    op_first_.push_back(gemm.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    op_second_.push_back(CUBLAS_OP_N);
    m_.push_back(n);
    n_.push_back(to_int(gemm.m));
    k_.push_back(k);
    ld_first_.push_back(gemm.transpose_b ? k : n);
    ld_second_.push_back(k);
    ld_out_.push_back(n);
    sizes_.push_back(1);
    ones_.push_back(1);
    zeros_.push_back(0);
    first_data.push_back(product.operand("b").data);
    second_data.push_back(product.operand("a").data);
    out_data.push_back(product.operand("out").data);
  }
  if (sizes_.empty()) throw oracle_failure("grouped_gemm: no group has rows");
  std::vector<CUdeviceptr> all = first_data;
  all.insert(all.end(), second_data.begin(), second_data.end());
  all.insert(all.end(), out_data.begin(), out_data.end());
  const std::size_t bytes = all.size() * sizeof(CUdeviceptr);
  pointers_ = allocate(driver, bytes);
  driver.check(driver.cuMemcpyHtoDAsync(pointers_.get(), all.data(), bytes, stream_),
               "cuMemcpyHtoDAsync");
  driver.check(driver.cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

void GroupedMatmul::enqueue() const {
  const std::size_t count = sizes_.size();
  const auto part = [&](std::size_t index) {
    return pointers_.get() + index * count * sizeof(CUdeviceptr);
  };
  cublas_->check(cublas_->cublasSetStream(cublas_->handle(), stream_), "cublasSetStream");
  cublas_->check(cublas_->cublasSetMathMode(cublas_->handle(), CUBLAS_DEFAULT_MATH),
                 "cublasSetMathMode");
  cublas_->check(
      cublas_->cublasGemmGroupedBatchedEx(
          cublas_->handle(), op_first_.data(), op_second_.data(), m_.data(), n_.data(), k_.data(),
          ones_.data(), reinterpret_cast<const void* const*>(part(0)), type_, ld_first_.data(),
          reinterpret_cast<const void* const*>(part(1)), type_, ld_second_.data(), zeros_.data(),
          reinterpret_cast<void* const*>(part(2)), out_type_, ld_out_.data(),
          static_cast<int>(count), sizes_.data(), CUBLAS_COMPUTE_32F),
      "cublasGemmGroupedBatchedEx");
}

}  // namespace assay
