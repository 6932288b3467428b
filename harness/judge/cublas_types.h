#pragma once

#include <library_types.h>

#include "base/dtype.h"

namespace assay {

/// cuBLAS's name for a dtype that a matrix can have (bf16, f16, f32).
constexpr cudaDataType_t cuda_type(DType dtype) {
  if (dtype == DType::bf16) return CUDA_R_16BF;
  if (dtype == DType::f16) return CUDA_R_16F;
  return CUDA_R_32F;
}

}  // namespace assay
