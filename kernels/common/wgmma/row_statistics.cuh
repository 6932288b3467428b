#pragma once

// Layer norm of the rows of A ahead of a product, which need not be written. With
// y = (x - mean) / deviation * gamma + beta, a product y W^T is
//
//   (x W'^T - mean * c) / deviation + d,   c = the row sums of W', d = W beta
//
// where W' is gamma * W, with any number added to a row: as the x - mean of a row sum to zero, it
// changes nothing. So the rows of gamma * W are moved to a sum of zero: then a large mean does not
// grow in the sums, of which nothing but rounding would be left, and c is only what the rounding of
// W' leaves. (Without it, rows in fp16 whose mean is a thousand times their deviation were out of
// bounds in one output of a thousand.)
//
// A is multiplied as it is, and its rows' means and deviations are needed only on the way out: a
// small launch finds them while the product begins. W', c and d are made once (fold_row).
//
// To find them in the slices that pass by, with a warpgroup more, took 6 to 33 % longer: it has to
// read as much shared memory as the tensor cores, and to issue three instructions an element.

#include "common/ptx/cvt.cuh"
#include "common/ptx/grid_dependency.cuh"
#include "common/types.cuh"

__device__ __forceinline__ void unpack(Bf16, unsigned word, float (&pair)[2]) {
  pair[0] = __uint_as_float(word << 16);
  pair[1] = __uint_as_float(word & 0xffff0000u);
}
__device__ __forceinline__ void unpack(F16, unsigned word, float (&pair)[2]) {
  asm("{\n"
      ".reg .f16 low, high;\n"
      "mov.b32 {low, high}, %2;\n"
      "cvt.f32.f16 %0, low;\n"
      "cvt.f32.f16 %1, high;\n"
      "}"
      : "=f"(pair[0]), "=f"(pair[1])
      : "r"(word));
}

/// What normalises a row: x * scale + shift.
struct alignas(8) RowScale {
  float scale;
  float shift;
};

/// Of a column of outputs: c and d above, a bias added to d.
struct alignas(8) ColumnSums {
  float c;
  float d;
};

/// Two neighbouring columns at once.
struct alignas(16) TwoColumns {
  ColumnSums of[2];
};

/// Layer norm and its product's bias on the way out, and an activation. There are statistics of `m`
/// rows, from the launch ahead, and sums for the columns of whole tiles.
template <typename Activation>
struct Normalised {
  static constexpr int kProducts = 1;

  const ColumnSums* of_columns;
  const RowScale* of_rows;
  int m;

  __device__ __forceinline__ void wait() const { grid_wait(); }
  __device__ __forceinline__ RowScale row(int at) const {
    return at < m ? of_rows[at] : RowScale{};
  }
  __device__ __forceinline__ ColumnSums column(int at) const { return of_columns[at]; }
  __device__ __forceinline__ void columns(int at, ColumnSums (&two)[2]) const {
    const TwoColumns both = *reinterpret_cast<const TwoColumns*>(of_columns + at);
    two[0] = both.of[0];
    two[1] = both.of[1];
  }
  __device__ __forceinline__ float operator()(const float (&sums)[1], const RowScale& row,
                                              const ColumnSums& column) const {
    return Activation::of(fmaf(sums[0], row.scale, fmaf(row.shift, column.c, column.d)));
  }
};

/// Sums of x - pivot and of its square. With a pivot among the numbers, what cancels is no larger
/// than their deviation, unless the pivot itself is far out: of K numbers, its square is then at
/// most K times the variance. Each lane has a pivot of its own, and K / 32 numbers.
struct Moments {
  float pivot;
  float sum = 0;
  float squares = 0;

  template <typename Element>
  __device__ __forceinline__ void add(const Chunk& chunk) {
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      float pair[2];
      unpack(Element{}, chunk.word[word], pair);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float x = pair[i] - pivot;
        sum += x;
        squares = fmaf(x, x, squares);
      }
    }
  }
};

/// What normalises a row of `k` elements, by a warp that has it to itself.
template <typename Element>
__device__ __forceinline__ RowScale statistics_of_row(const Element* row, int k, float epsilon) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Moments moments = {0};
  int count = 0;
#pragma unroll 4
  for (int chunk = lane; chunk < k / 8; chunk += 32, count += 8) {
    const Chunk eight = *reinterpret_cast<const Chunk*>(row + chunk * 8);
    if (count == 0) {
      float first[2];
      unpack(Element{}, eight.word[0], first);
      moments.pivot = first[0];
    }
    moments.add<Element>(eight);
  }
  // Mean and sum of squared deviations of the lane's numbers, then of two, four, ... lanes' (Chan,
  // Golub and LeVeque, 1979).
  float n = static_cast<float>(count);
  float mean = count > 0 ? moments.pivot + moments.sum / n : 0.0f;
  float squares = count > 0 ? moments.squares - moments.sum * moments.sum / n : 0.0f;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const float other_n = __shfl_xor_sync(~0u, n, distance);
    const float apart = __shfl_xor_sync(~0u, mean, distance) - mean;
    const float all = n + other_n;
    const float share = all > 0 ? other_n / all : 0.0f;
    squares += __shfl_xor_sync(~0u, squares, distance) + apart * apart * n * share;
    mean += apart * share;
    n = all;
  }
  const float scale = rsqrtf(fmaxf(squares, 0.0f) / static_cast<float>(k) + epsilon);
  return {scale, -mean * scale};
}

/// The sum over a block of 128 threads, in each of them. `parts` are four floats of its own.
__device__ __forceinline__ float sum_of_block(float x, float* parts) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  return parts[0] + parts[1] + parts[2] + parts[3];
}

/// Two neighbouring elements.
template <typename Element>
__device__ __forceinline__ void load_pair(const Element* from, float (&pair)[2]) {
  unpack(Element{}, *reinterpret_cast<const unsigned*>(from), pair);
}

/// Row blockIdx.x of the weights [n, k], by a block of 128 threads: W' and the column's sums.
template <typename Element>
__device__ __forceinline__ void fold_row(const Element* weights, const Element* gamma,
                                         const Element* beta, const Element* bias, Element* folded,
                                         ColumnSums* columns, int k) {
  __shared__ float parts[3][4];
  const int row = static_cast<int>(blockIdx.x), first = static_cast<int>(threadIdx.x) * 2;
  const long long begin = static_cast<long long>(row) * k;
  float w[2], scale[2], shift[2], rounded[2];
  float sum = 0, c = 0, d = 0;
  for (int at = first; at < k; at += 256) {
    load_pair(weights + begin + at, w);
    load_pair(gamma + at, scale);
    load_pair(beta + at, shift);
    sum += w[0] * scale[0] + w[1] * scale[1];
    d += w[0] * shift[0] + w[1] * shift[1];
  }
  const float mean = sum_of_block(sum, parts[0]) / static_cast<float>(k);
  for (int at = first; at < k; at += 256) {
    load_pair(weights + begin + at, w);
    load_pair(gamma + at, scale);
    const unsigned both = pack(Element{}, fmaf(w[0], scale[0], -mean), fmaf(w[1], scale[1], -mean));
    *reinterpret_cast<unsigned*>(folded + begin + at) = both;
    unpack(Element{}, both, rounded);  // what is multiplied, so that a row's mean cancels
    c += rounded[0] + rounded[1];
  }
  c = sum_of_block(c, parts[1]);
  d = sum_of_block(d, parts[2]);
  if (threadIdx.x == 0) {
    float of_bias[2];
    unpack(Element{}, bias[row].bits, of_bias);
    columns[row] = {c, d + of_bias[0]};
  }
}
