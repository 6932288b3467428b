#pragma once

#include "common/types.cuh"

/// Rounds two floats to nearest even and packs them, `low` in the low half.
__device__ __forceinline__ unsigned pack(Bf16, float low, float high) {
  unsigned packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

__device__ __forceinline__ unsigned pack(F16, float low, float high) {
  unsigned packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
