#pragma once

// Layer norm of the rows of A ahead of a product, as in row_statistics.cuh, but each row of W' adds
// up to zero as it is rounded. So c is 0: an output takes one multiply-add less, and nothing has to
// be known of the means. With 4096 rows and 1024 columns that saves 0.9 us of 56.

#include "common/wgmma/row_statistics.cuh"

/// Two neighbouring columns at once.
struct alignas(8) TwoBiases {
  float of[2];
};

/// Layer norm and its product's bias on the way out, and an activation. There are scales of `m`
/// rows, from the launch ahead, and biases for the columns of whole tiles.
template <typename Activation>
struct Scaled {
  static constexpr int kProducts = 1;

  const float* biases;
  const float* scales;
  int m;

  __device__ __forceinline__ void wait() const { grid_wait(); }
  __device__ __forceinline__ float row(int at) const { return at < m ? scales[at] : 0.0f; }
  __device__ __forceinline__ float column(int at) const { return biases[at]; }
  __device__ __forceinline__ void columns(int at, float (&two)[2]) const {
    const TwoBiases both = *reinterpret_cast<const TwoBiases*>(biases + at);
    two[0] = both.of[0];
    two[1] = both.of[1];
  }
  __device__ __forceinline__ float operator()(const float (&sums)[1], float scale,
                                              float bias) const {
    return Activation::of(fmaf(sums[0], scale, bias));
  }
};

/// The least over a block of 128 threads, in each of them. `parts` are four numbers of its own.
__device__ __forceinline__ unsigned least_of_block(unsigned x, unsigned* parts) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    x = min(x, __shfl_xor_sync(~0u, x, distance));
  }
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  return min(min(parts[0], parts[1]), min(parts[2], parts[3]));
}

__device__ __forceinline__ float infinity() { return __uint_as_float(0x7f800000u); }

/// Of the rounded numbers that a thread has of a row: the one that costs least to round the other
/// way, and the one nearest to zero.
template <typename Element>
struct Spare {
  Element* turned = nullptr;
  unsigned bits = 0;  // of the neighbour that it would be
  float step = 0;     // from the number to it
  float cost = infinity();
  Element* nearest = nullptr;
  float size = infinity();

  /// `value` was rounded to the number at `at`, whose `of_number` are the bits. The sum of the row
  /// is to become less, or more.
  __device__ __forceinline__ void see(Element* at, unsigned of_number, float value, bool less) {
    float pair[2];
    unpack(Element{}, of_number, pair);
    const float number = pair[0];
    if (fabsf(number) < size) {
      nearest = at;
      size = fabsf(number);
    }
    if (number == 0) return;
    const unsigned neighbour = less == (number > 0) ? of_number - 1 : of_number + 1;
    unpack(Element{}, neighbour, pair);
    const float length = fabsf(pair[0] - number), far = __fdividef(fabsf(pair[0] - value), length);
    if (far >= cost) return;
    cost = far;
    step = length;
    turned = at;
    bits = neighbour;
  }
};

/// Row blockIdx.x of the weights [n, k], by a block of 128 threads: W' and the column's d, with a
/// bias added. In each round, each thread offers that of its numbers that costs least to round the
/// other way, and that it has not turned yet. Those whose steps fit into what is left of the sum
/// are turned, until none does. Then the number nearest to zero takes the rest. Of 4096 rows of
/// 1024 normal numbers, 8 to 40 were turned in each, and 1e-5 was left of 3e-3 at most. A row with
/// numbers a hundred times as large as others, or with many zeros, takes up to 30 rounds; with one
/// round alone, the rest was as large as other numbers, and an output of ten million was wrong.
template <typename Element>
__device__ __forceinline__ void fold_row_to_zero(const Element* weights, const Element* gamma,
                                                 const Element* beta, const Element* bias,
                                                 Element* folded, float* biases, int k) {
  __shared__ float parts[3][4];
  __shared__ float steps[128];
  __shared__ unsigned least[4];
  __shared__ float rest;
  const int row = static_cast<int>(blockIdx.x), first = static_cast<int>(threadIdx.x) * 2;
  const long long begin = static_cast<long long>(row) * k;
  float w[2], scale[2], shift[2], rounded[2];
  float sum = 0, d = 0;
  for (int at = first; at < k; at += 256) {
    load_pair(weights + begin + at, w);
    load_pair(gamma + at, scale);
    load_pair(beta + at, shift);
    sum += w[0] * scale[0] + w[1] * scale[1];
    d += w[0] * shift[0] + w[1] * shift[1];
  }
  const float mean = sum_of_block(sum, parts[0]) / static_cast<float>(k);
  d = sum_of_block(d, parts[1]);
  sum = 0;
  const auto fold = [&](int at) {
    load_pair(weights + begin + at, w);
    load_pair(gamma + at, scale);
#pragma unroll
    for (int i = 0; i < 2; ++i) w[i] = fmaf(w[i], scale[i], -mean);
    return pack(Element{}, w[0], w[1]);
  };
  for (int at = first; at < k; at += 256) {
    const unsigned both = fold(at);
    *reinterpret_cast<unsigned*>(folded + begin + at) = both;
    unpack(Element{}, both, rounded);
    sum += rounded[0] + rounded[1];
  }
  sum = sum_of_block(sum, parts[2]);
  Spare<Element> spare;
  for (float left = fabsf(sum), before = infinity(); left < before;) {
    spare = {};
    for (int at = first; at < k; at += 256) {
      const unsigned both = fold(at);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        Element* const number = folded + begin + at + i;
        const unsigned bits = both >> 16 * i & 0xffffu;
        if (number->bits == bits) spare.see(number, bits, w[i], sum > 0);
      }
    }
    steps[threadIdx.x] = spare.step;
    __syncthreads();
    if (threadIdx.x == 0) {
      rest = left;
      for (int thread = 0; thread < 128; ++thread) {
        if (steps[thread] <= rest) {
          rest -= steps[thread];
        } else {
          steps[thread] = 0;
        }
      }
    }
    __syncthreads();
    if (steps[threadIdx.x] > 0) spare.turned->bits = static_cast<unsigned short>(spare.bits);
    before = left;
    left = rest;
  }
  // No two threads have the same.
  const unsigned order = (__float_as_uint(spare.size) & ~127u) | threadIdx.x;
  if (least_of_block(order, least) == order && spare.nearest != nullptr) {  // else NaN
    unpack(Element{}, spare.nearest->bits, rounded);
    const unsigned both = pack(Element{}, rounded[0] - copysignf(rest, sum), 0.0f);
    spare.nearest->bits = static_cast<unsigned short>(both);
  }
  if (threadIdx.x == 0) {
    float of_bias[2];
    unpack(Element{}, bias[row].bits, of_bias);
    biases[row] = d + of_bias[0];
  }
}
