#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "cuda/cusparse.h"
#include "judge/operation.h"

namespace assay {

/// A `spmv` by cuSPARSE: a sparse matrix by its rows (CSR), times a vector.
class SparseMatvec {
 public:
  /// As many algorithms as cuSPARSE has for such a matrix.
  static constexpr int kNumAlgorithms = 2;

  /// `call` has all operands. What the library makes of a matrix ahead of its products is made
  /// here, and is not timed. Throws Failure `oracle` for row starts that do not fit, Error.
  SparseMatvec(OperationEngine& engine, const OperationCall& call, int algorithm = 0);

  /// Enqueues the product. Throws Error.
  void enqueue() const;
  /// "algorithm 2 of 2"
  std::string describe() const;

 private:
  using Matrix = std::unique_ptr<std::remove_pointer_t<cusparseSpMatDescr_t>,
                                 decltype(&::cusparseDestroySpMat)>;
  using Vector = std::unique_ptr<std::remove_pointer_t<cusparseDnVecDescr_t>,
                                 decltype(&::cusparseDestroyDnVec)>;

  Vector make_vector(const Operand& operand) const;

  CUstream stream_;
  const Cusparse* cusparse_;
  int algorithm_;
  cudaDataType type_;
  Matrix matrix_;
  Vector x_, out_;
  DeviceMemory workspace_;
};

}  // namespace assay
