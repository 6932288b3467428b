#include "judge/sparse_matvec.h"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/cublas.h"

namespace assay {
namespace {

constexpr cusparseSpMVAlg_t kAlgorithms[SparseMatvec::kNumAlgorithms] = {CUSPARSE_SPMV_CSR_ALG1,
                                                                         CUSPARSE_SPMV_CSR_ALG2};

/// 1 and 0 as the products are computed.
struct Scalars {
  explicit Scalars(cudaDataType type) : wide(type == CUDA_R_64F) {}
  const void* one() const { return wide ? static_cast<const void*>(&one64) : &one32; }
  const void* zero() const { return wide ? static_cast<const void*>(&zero64) : &zero32; }

  bool wide;
  float one32 = 1, zero32 = 0;
  double one64 = 1, zero64 = 0;
};

void check_starts(OperationEngine& engine, const OperationCall& call) {
  const Operand& starts = call.operand("starts");
  const std::int64_t last = starts.elements() - 1;
  const double begin = engine.read(starts, 0, 1, 1)[0], end = engine.read(starts, last, 1, 1)[0];
  const std::int64_t nonzeros = call.operand("values").elements();
  if (begin == 0 && end == static_cast<double>(nonzeros)) return;
  throw oracle_failure("spmv: starts must rise from 0 to the {} values, found {} to {}", nonzeros,
                       begin, end);
}

}  // namespace

SparseMatvec::SparseMatvec(OperationEngine& engine, const OperationCall& call, int algorithm)
    : stream_(engine.stream()),
      cusparse_(&engine.cusparse()),
      algorithm_(algorithm),
      type_(cuda_type(call.operand("values").dtype)),
      matrix_(nullptr, cusparse_->cusparseDestroySpMat.address),
      x_(make_vector(call.operand("x"))),
      out_(make_vector(call.operand("out"))) {
  check_starts(engine, call);
  const auto pointer = [&](const char* name) {
    return reinterpret_cast<void*>(call.operand(name).data);
  };
  cusparseSpMatDescr_t matrix = nullptr;
  cusparse_->cusparseCreateCsr(
      &matrix, call.operand("out").elements(), call.operand("x").elements(),
      call.operand("values").elements(), pointer("starts"), pointer("columns"), pointer("values"),
      CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type_);
  matrix_.reset(matrix);
  cusparse_->cusparseSetStream(cusparse_->handle(), stream_);
  const Scalars scalars(type_);
  std::size_t bytes = 0;
  cusparse_->cusparseSpMV_bufferSize(cusparse_->handle(), CUSPARSE_OPERATION_NON_TRANSPOSE,
                                     scalars.one(), matrix_.get(), x_.get(), scalars.zero(),
                                     out_.get(), type_, kAlgorithms[algorithm_], &bytes);
  workspace_ = allocate(engine.driver(), std::max<std::size_t>(bytes, 1));
  cusparse_->cusparseSpMV_preprocess(cusparse_->handle(), CUSPARSE_OPERATION_NON_TRANSPOSE,
                                     scalars.one(), matrix_.get(), x_.get(), scalars.zero(),
                                     out_.get(), type_, kAlgorithms[algorithm_],
                                     reinterpret_cast<void*>(workspace_.get()));
}

SparseMatvec::Vector SparseMatvec::make_vector(const Operand& operand) const {
  cusparseDnVecDescr_t vector = nullptr;
  cusparse_->cusparseCreateDnVec(&vector, operand.elements(), reinterpret_cast<void*>(operand.data),
                                 cuda_type(operand.dtype));
  return {vector, cusparse_->cusparseDestroyDnVec.address};
}

void SparseMatvec::enqueue() const {
  const Scalars scalars(type_);
  cusparse_->cusparseSetStream(cusparse_->handle(), stream_);
  cusparse_->cusparseSpMV(cusparse_->handle(), CUSPARSE_OPERATION_NON_TRANSPOSE, scalars.one(),
                          matrix_.get(), x_.get(), scalars.zero(), out_.get(), type_,
                          kAlgorithms[algorithm_], reinterpret_cast<void*>(workspace_.get()));
}

std::string SparseMatvec::describe() const {
  return fmt::format("algorithm {} of {}", algorithm_ + 1, kNumAlgorithms);
}

}  // namespace assay
