#pragma once

#include <library_types.h>

#include "base/dtype.h"

namespace assay {

/// cuBLAS's name for a dtype that a matrix can have (bf16, f16, f32, f64, e4m3, e5m2, i8,
/// i32).
constexpr cudaDataType_t cuda_type(DType dtype) {
  if (dtype == DType::bf16) return CUDA_R_16BF;
  if (dtype == DType::f16) return CUDA_R_16F;
  if (dtype == DType::f64) return CUDA_R_64F;
  if (dtype == DType::e4m3) return CUDA_R_8F_E4M3;
  if (dtype == DType::e5m2) return CUDA_R_8F_E5M2;
  if (dtype == DType::i8) return CUDA_R_8I;
  if (dtype == DType::i32) return CUDA_R_32I;
  return CUDA_R_32F;
}

}  // namespace assay
