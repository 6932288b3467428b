#pragma once

// The activations of sparse FFNs that have any: ACTIVATION is a trait of their problems.

#include "common/sparse/ffn.cuh"
#include "common/wgmma/transform.cuh"

struct Activation {
  static constexpr int kProducts = 1;
  static __device__ __forceinline__ float of(const float (&sums)[1]) {
    const float x = sums[0];
    if constexpr (ACTIVATION == 2) {
      // x / 2 * (1 + tanh(z)) = x / (1 + e^-2z). Gelu of transform.cuh is good to 2^-11 of x, which
      // does not do for f16: where x is below 0, GELU is less than x.
      constexpr float kLinear = 2 * 1.4426950409f * 0.7978845608f;
      constexpr float kCubic = kLinear * 0.044715f;
      return x * fast_reciprocal(1.0f + fast_exp2(-x * fmaf(kCubic, x * x, kLinear)));
    }
    return fmaxf(x, ACTIVATION == 1 ? 0.01f * x : 0.0f);
  }
};
