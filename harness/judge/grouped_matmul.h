#pragma once

#include <vector>

#include "judge/operation.h"

namespace assay {

/// A `grouped_gemm` by cuBLAS, in one call, which is what a user of the library would do. Where the
/// groups begin is read once, when this is made.
class GroupedMatmul {
 public:
  /// `call` has all operands, `out` in the dtype that the product is written in. Throws Failure
  /// `oracle` for groups that do not fit.
  GroupedMatmul(const Driver& driver, OperationEngine& engine, const OperationCall& call);

  /// Enqueues the products. Throws Error.
  void enqueue() const;

 private:
  CUstream stream_;
  const Cublas* cublas_;
  cudaDataType_t type_, out_type_;
  // One for each group that has rows. In column-major order, as in the reference of a gemm.
  std::vector<cublasOperation_t> op_first_, op_second_;
  std::vector<int> m_, n_, k_, ld_first_, ld_second_, ld_out_, sizes_;
  std::vector<float> ones_, zeros_;
  DeviceMemory pointers_;  // of the first operands, the second ones, and the outputs
};

}  // namespace assay
