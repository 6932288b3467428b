#pragma once

// RMS norm of the rows of A ahead of a product, as row_statistics.cuh has layer norm: with
// y = x / sqrt(mean(x^2) + epsilon) * gamma, a product y W^T is (x W'^T) * scale with W' = gamma *
// W. There is no mean to take away, so nothing has to be known of a column but its bias.

#include "common/wgmma/row_statistics.cuh"

/// x * P(X <= x) of a normal X: GELU as it is defined, as max(x, 0) - |x| * P(X > |x|), so that it
/// is as good far on the left, where it is small. P is erfc of |x| / sqrt(2) / 2, and erfc a
/// polynomial of 1 / (1 + p z) times e^-z^2, good to 1.5e-7 (Abramowitz and Stegun, 1964, 7.1.26);
/// the factors are in its constants. Beyond 30 it is 0, also of infinite x.
struct ExactGelu {
  static __device__ __forceinline__ float of(float x) {
    constexpr float kHalfLog2E = 0.5f * 1.4426950409f, kSqrtHalf = 0.7071067812f;
    const float z = fminf(fabsf(x), 30.0f);
    const float t = fast_reciprocal(fmaf(0.3275911f * kSqrtHalf, z, 1.0f));
    float sum = fmaf(t, 0.5f * 1.061405429f, 0.5f * -1.453152027f);
    sum = fmaf(t, sum, 0.5f * 1.421413741f);
    sum = fmaf(t, sum, 0.5f * -0.284496736f);
    sum = fmaf(t, sum, 0.5f * 0.254829592f);
    const float beyond = t * sum * fast_exp2(-kHalfLog2E * z * z);
    float positive;  // NaN of NaN, which fmaxf would hide
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(positive) : "f"(x), "f"(0.0f));
    return fmaf(-z, beyond, positive);
  }
};

/// RMS norm and its product's bias on the way out, and an activation. There are scales of `m` rows,
/// from the launch ahead, and biases of `n` columns.
template <typename Element, typename Activation>
struct RmsNormalised {
  static constexpr int kProducts = 1;

  const Element* bias;
  const float* scales;
  int m;
  int n;

  __device__ __forceinline__ void wait() const { grid_wait(); }
  __device__ __forceinline__ float row(int at) const { return at < m ? scales[at] : 0.0f; }
  __device__ __forceinline__ float column(int at) const {
    if (at >= n) return 0.0f;
    float two[2];
    unpack(Element{}, bias[at].bits, two);
    return two[0];
  }
  __device__ __forceinline__ void columns(int at, float (&two)[2]) const {
    two[0] = column(at);
    two[1] = column(at + 1);
  }
  __device__ __forceinline__ float operator()(const float (&sums)[1], float scale,
                                              float bias_of_column) const {
    return Activation::of(fmaf(sums[0], scale, bias_of_column));
  }
};

/// The scale of a row of `k` elements, by a warp that has it to itself.
template <typename Element>
__device__ __forceinline__ float rms_scale_of_row(const Element* row, int k, float epsilon) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float squares = 0;
#pragma unroll 4
  for (int chunk = lane; chunk < k / 8; chunk += 32) {
    const Chunk eight = *reinterpret_cast<const Chunk*>(row + chunk * 8);
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      float pair[2];
      unpack(Element{}, eight.word[word], pair);
      squares = fmaf(pair[0], pair[0], fmaf(pair[1], pair[1], squares));
    }
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    squares += __shfl_xor_sync(~0u, squares, distance);
  }
  return rsqrtf(squares / static_cast<float>(k) + epsilon);
}

/// Row blockIdx.x of the weights [n, k], by a block of 128 threads: W'.
template <typename Element>
__device__ __forceinline__ void scale_row(const Element* weights, const Element* gamma,
                                          Element* scaled, int k) {
  const long long begin = static_cast<long long>(blockIdx.x) * k;
  for (int at = static_cast<int>(threadIdx.x) * 2; at < k; at += 256) {
    float w[2], scale[2];
    load_pair(weights + begin + at, w);
    load_pair(gamma + at, scale);
    *reinterpret_cast<unsigned*>(scaled + begin + at) =
        pack(Element{}, w[0] * scale[0], w[1] * scale[1]);
  }
}
