#pragma once

#include <string>
#include <vector>

#include "cuda/cublas.h"
#include "cuda/handles.h"
#include "cuda/lt_product.h"
#include "judge/operation.h"
#include "timing/timer.h"

namespace assay {

/// One matrix product, or those of a stack of matrices, in every algorithm that cuBLASLt's
/// heuristic offers for it. The first is what a user of the library gets. The fastest is what the
/// library could give.
class LtMatmul {
 public:
  /// `call` is a gemm whose `out` has the dtype that the product is written in. It may have a
  /// `bias` for each column, and the flags `relu` and `gelu`, which are done with the product. With
  /// `a_scales` and `b_scales` its factors are small floating numbers, as of a scaled_gemm.
  /// Throws Failure when it is no gemm, Error when cuBLASLt has no algorithm for it.
  LtMatmul(OperationEngine& engine, const OperationCall& call,
           cublasComputeType_t compute = CUBLAS_COMPUTE_32F);

  int num_algorithms() const { return static_cast<int>(algorithms_.size()); }
  /// Enqueues the product into `out`. Throws Error.
  void enqueue(int algorithm, CUdeviceptr out) const;

  /// Times every algorithm briefly, in turn and cold. Returns those within 5 % of the fastest,
  /// fastest first, at most `most` of them. Algorithms that cannot run are left out. Throws Error
  /// when none can.
  std::vector<int> shortlist(Timer& timer, CUdeviceptr out, std::size_t most);
  /// "algorithm 3 of 8, workspace 32 MiB"
  std::string describe(int algorithm) const;

 private:
  void set_epilogue(const OperationCall& call);
  void set_scales(const OperationCall& call);

  const SupportKernels* support_;
  CUdeviceptr a_, b_;
  LtProduct product_;
  DeviceMemory workspace_;
  std::size_t workspace_bytes_ = 0;  // the most that one of the algorithms takes
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms_;
};

/// A `grouped_gemm` by cuBLAS, in one call, which is what a user of the library would do. Where the
/// groups begin is read once, when this is made.
class GroupedMatmul {
 public:
  /// `call` has all operands, `out` in the dtype that the product is written in. Throws Failure
  /// `oracle` for groups that do not fit.
  GroupedMatmul(OperationEngine& engine, const OperationCall& call);

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
