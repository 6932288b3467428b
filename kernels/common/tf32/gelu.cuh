#pragma once

#include "common/wgmma/transform.cuh"

/// The same form of GELU as Gelu, as x / (1 + e^(-2 u)): good to fp32 but for a few last bits, also
/// far on the left, where 1 + tanh would have lost all of them.
struct FloatGelu {
  static __device__ __forceinline__ float of(float x) {
    constexpr float kLinear = 0.7978845608f;
    constexpr float kCubic = kLinear * 0.044715f;
    constexpr float kTwoLog2E = 2 * 1.4426950409f;
    const float u = x * fmaf(kCubic, x * x, kLinear);
    return x * fast_reciprocal(1.0f + fast_exp2(-kTwoLog2E * u));
  }
};

/// Adds a vector of n floats, an even number, to every row, then an activation. Beyond C it takes
/// the last ones, so that no load needs a branch.
template <typename Activation>
struct Biased {
  static constexpr int kProducts = 1;

  const float* vector;
  int n;

  __device__ __forceinline__ void wait() const {}
  __device__ __forceinline__ Nothing row(int) const { return {}; }
  __device__ __forceinline__ float column(int at) const { return vector[smaller(at, n - 1)]; }
  __device__ __forceinline__ void columns(int at, float (&two)[2]) const {
    struct alignas(8) Pair {
      float of[2];
    };
    const Pair pair = *reinterpret_cast<const Pair*>(vector + smaller(at, n - 2));
    two[0] = pair.of[0];
    two[1] = pair.of[1];
  }
  __device__ __forceinline__ float operator()(const float (&sums)[1], Nothing, float bias) const {
    return Activation::of(sums[0] + bias);
  }
};
