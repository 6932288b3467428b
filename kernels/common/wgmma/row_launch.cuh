#pragma once

// The launch ahead of a product that finds what normalises the rows of A (row_statistics.cuh,
// rms_norm.cuh). Where it runs, blocks of the product begin when it has ended, so it has to be
// short. A warp loads two rows at a time, and divides by approximation where the sums of lanes come
// together. With one row at a time and exact divisions, a product of 4096 rows and 1024 columns
// took 2.5 us longer.

#include "common/wgmma/row_statistics.cuh"

/// Mean and sum of squared deviations of so many numbers.
struct Spread {
  float n;
  float mean;
  float squares;

  /// Of a lane's numbers, `count` of them.
  __device__ __forceinline__ Spread(const Moments& moments, float count)
      : n(count), mean(moments.pivot), squares(moments.squares) {
    const float shift = count > 0 ? __fdividef(moments.sum, count) : 0.0f;
    mean += shift;
    squares -= moments.sum * shift;
  }
  /// Adds those of the lane `distance` away (Chan, Golub and LeVeque, 1979).
  __device__ __forceinline__ void add_lane(int distance) {
    const float other_n = __shfl_xor_sync(~0u, n, distance);
    const float apart = __shfl_xor_sync(~0u, mean, distance) - mean;
    const float all = n + other_n;
    const float share = all > 0 ? __fdividef(other_n, all) : 0.0f;
    squares += __shfl_xor_sync(~0u, squares, distance) + apart * apart * n * share;
    mean += apart * share;
    n = all;
  }
};

/// Sums of squares, for RMS norm.
struct Squares {
  float sum = 0;

  Squares() = default;
  __device__ __forceinline__ explicit Squares(float) {}
  template <typename Element>
  __device__ __forceinline__ void add(const Chunk& chunk) {
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      float pair[2];
      unpack(Element{}, chunk.word[word], pair);
      sum = fmaf(pair[0], pair[0], fmaf(pair[1], pair[1], sum));
    }
  }
};

/// What normalises a row of `k` elements, out of its lanes' sums. This lane has `count` elements.
__device__ __forceinline__ RowScale of_row(const Moments& moments, int count, int k,
                                           float epsilon) {
  Spread spread(moments, static_cast<float>(count));
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) spread.add_lane(distance);
  const float scale = rsqrtf(fmaxf(spread.squares, 0.0f) / static_cast<float>(k) + epsilon);
  return {scale, -spread.mean * scale};
}
__device__ __forceinline__ float of_row(const Squares& squares, int, int k, float epsilon) {
  float sum = squares.sum;
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
  return rsqrtf(sum / static_cast<float>(k) + epsilon);
}

/// Adds up kRows rows of `k` elements, by a warp that has them to itself. Each row begins `step`
/// elements after the one before. Returns how many elements of a row this lane has.
template <int kRows, typename Sums, typename Element>
__device__ __forceinline__ int add_rows(Sums (&sums)[kRows], const Element* row, long long step,
                                        int k) {
  constexpr int kAtOnce = 4;  // chunks of each row
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    float first[2] = {};
    if (lane * 8 < k) load_pair(row + i * step + lane * 8, first);
    sums[i] = Sums{first[0]};
  }
  const auto add = [&]<int kChunks>(int at) {
    Chunk chunks[kRows][kChunks];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kChunks; ++j) {
        chunks[i][j] = *reinterpret_cast<const Chunk*>(row + i * step + at + j * 256);
      }
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kChunks; ++j) sums[i].template add<Element>(chunks[i][j]);
    }
  };
  int count = 0;
  int at = lane * 8;
#pragma unroll 1
  for (; count + kAtOnce * 256 <= k; count += kAtOnce * 256, at += kAtOnce * 256) {
    add.template operator()<kAtOnce>(at);
  }
  count /= 32;
#pragma unroll 1
  for (; at < k; at += 256, count += 8) add.template operator()<1>(at);
  return count;
}

/// All that a launch does. One lane calls `store(row, found)` for each of the `m` rows. Sums are
/// Moments or Squares.
template <typename Sums, typename Element, typename Store>
__device__ __forceinline__ void normalise_rows(const Element* x, int m, int k, float epsilon,
                                               const Store& store) {
  const int warps = static_cast<int>(gridDim.x * blockDim.x / 32);
  const auto find = [&]<int kRows>(int row) {
    Sums sums[kRows];
    const int count =
        add_rows(sums, x + static_cast<long long>(row) * k, static_cast<long long>(warps) * k, k);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const auto found = of_row(sums[i], count, k, epsilon);
      if (threadIdx.x % 32 == 0) store(row + i * warps, found);
    }
  };
  int row = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
#pragma unroll 1
  for (; row + warps < m; row += 2 * warps) find.template operator()<2>(row);
  if (row < m) find.template operator()<1>(row);
}
