#pragma once

// What becomes of sums before they are rounded, on every way out of the main loop.
//
// A transform is called with the sums that make one output, G::kProducts of them, and with what it
// has to know of the output's row and of its column, which it is asked for ahead: row(m) and
// column(n), or columns(n, two) for n, which is even, and n + 1. Rows and columns may lie beyond C;
// such an output is not stored. Before the first is asked for, wait() is called: what another
// launch makes is there then.

/// Of rows or columns about which a transform knows nothing.
struct Nothing {};

/// What a transform without knowledge of rows and columns has.
struct OfSumsOnly {
  __device__ __forceinline__ void wait() const {}
  __device__ __forceinline__ Nothing row(int) const { return {}; }
  __device__ __forceinline__ Nothing column(int) const { return {}; }
  __device__ __forceinline__ void columns(int, Nothing (&)[2]) const {}
};

/// C is the product.
struct Identity : OfSumsOnly {
  static constexpr int kProducts = 1;

  __device__ __forceinline__ float operator()(const float (&sums)[1], Nothing, Nothing) const {
    return sums[0];
  }
};

/// e^x and 1 / x, each an instruction of the special function unit, good to 2^-21 of the result.
/// Subnormal numbers are zeros: what would keep them takes as many instructions as all the rest.
__device__ __forceinline__ float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float fast_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// x / (1 + e^-x).
struct Silu {
  static __device__ __forceinline__ float of(float x) {
    constexpr float kLog2E = 1.4426950409f;
    return x * fast_reciprocal(1.0f + fast_exp2(-kLog2E * x));
  }
};

/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), the form of GELU that cuBLASLt has. tanh
/// is one instruction of the special function unit, where e^x and a quotient are two, and the unit
/// takes eight times as long for one as others take. It is good to 2^-11, and so is the factor of
/// x.
struct Gelu {
  static __device__ __forceinline__ float of(float x) {
    constexpr float kLinear = 0.7978845608f;
    constexpr float kCubic = kLinear * 0.044715f;
    float tanh;
    asm("tanh.approx.f32 %0, %1;" : "=f"(tanh) : "f"(x * fmaf(kCubic, x * x, kLinear)));
    const float half = 0.5f * x;
    return fmaf(half, tanh, half);
  }
};

/// Two products: an activation of the first, the gate, times the second.
template <typename Activation>
struct Gated : OfSumsOnly {
  static constexpr int kProducts = 2;

  __device__ __forceinline__ float operator()(const float (&sums)[2], Nothing, Nothing) const {
    return Activation::of(sums[0]) * sums[1];
  }
};

/// Adds a vector of n elements to every row of C.
struct Bias {
  static constexpr int kProducts = 1;

  const float* vector;
  int n;

  __device__ __forceinline__ void wait() const {}
  __device__ __forceinline__ Nothing row(int) const { return {}; }
  __device__ __forceinline__ float column(int at) const { return at < n ? vector[at] : 0.0f; }
  __device__ __forceinline__ void columns(int at, float (&two)[2]) const {
    two[0] = column(at);
    two[1] = column(at + 1);
  }
  __device__ __forceinline__ float operator()(const float (&sums)[1], Nothing, float bias) const {
    return sums[0] + bias;
  }
};
