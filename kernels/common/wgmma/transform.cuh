#pragma once

// What becomes of sums before they are rounded, on every way out of the main loop.
//
// A transform is called with the sums that make one output, G::kProducts of them, and with the
// output's row and column of C. Both may lie beyond C, where what it returns is not stored; there
// it must not read.

/// C is the product.
struct Identity {
  static constexpr int kProducts = 1;

  __device__ __forceinline__ float operator()(const float (&sums)[1], int, int) const {
    return sums[0];
  }
};

/// x / (1 + e^-x). Two instructions of the special function unit, good to 2^-21 of the result.
struct Silu {
  static __device__ __forceinline__ float of(float x) { return __fdividef(x, 1.0f + __expf(-x)); }
};

/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), the form of GELU that cuBLASLt has. As
/// 1 + tanh(u) = 2 / (1 + e^-2u), it costs two instructions more than Silu.
struct Gelu {
  static __device__ __forceinline__ float of(float x) {
    constexpr float kTwoRootTwoOverPi = 1.5957691216f;
    return __fdividef(x, 1.0f + __expf(-kTwoRootTwoOverPi * (x + 0.044715f * x * x * x)));
  }
};

/// An activation of what another transform makes.
template <typename First, typename Activation>
struct Then {
  static constexpr int kProducts = First::kProducts;

  First first = {};

  __device__ __forceinline__ float operator()(const float (&sums)[kProducts], int m, int n) const {
    return Activation::of(first(sums, m, n));
  }
};

/// Two products: an activation of the first, the gate, times the second.
template <typename Activation>
struct Gated {
  static constexpr int kProducts = 2;

  __device__ __forceinline__ float operator()(const float (&sums)[2], int, int) const {
    return Activation::of(sums[0]) * sums[1];
  }
};

/// Adds a vector of n elements to every row of C.
struct Bias {
  static constexpr int kProducts = 1;

  const float* vector;
  int n;

  __device__ __forceinline__ float operator()(const float (&sums)[1], int, int col) const {
    return sums[0] + (col < n ? vector[col] : 0.0f);
  }
};
