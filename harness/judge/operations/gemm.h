#pragma once

#include "judge/operation.h"

namespace assay {

/// The sizes of a product: out[m,n] = a @ b, or of `batch` of them where the operands are stacks of
/// matrices.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool transpose_a = false, transpose_b = false;
  DType dtype = DType::f32;  // of a and b

  std::vector<std::int64_t> out(std::size_t rank) const {
    return rank == 3 ? std::vector{batch, m, n} : std::vector{m, n};
  }
};

/// From a, b and the flags; `out` need not be known yet. Throws Failure `oracle` saying which
/// shapes do not fit.
GemmShape gemm_shape(const OperationCall& call);

/// The products of a `grouped_gemm`, each as a gemm: one for each group that has rows. Reads where
/// the groups begin. Throws Failure `oracle` when the starts do not rise from 0 to the rows of a,
/// Error.
std::vector<OperationCall> products_of_groups(const OperationCall& call, OperationEngine& engine);

}  // namespace assay
