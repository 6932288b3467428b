#pragma once

#include "judge/operation.h"

namespace assay {

/// The sizes of a `gemm`: out[m,n] = a @ b.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  DType dtype = DType::f32;  // of a and b
};

/// From a, b and the flags; `out` need not be known yet. Throws Failure `oracle` saying which
/// shapes do not fit.
GemmShape gemm_shape(const OperationCall& call);

}  // namespace assay
