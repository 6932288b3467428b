#pragma once

#include "common/ptx/cvt.cuh"
#include "common/ptx/grid_dependency.cuh"
#include "common/wgmma/row_statistics.cuh"

/// What a token's experts say, weighted and added up in the order of its choice: y[t] = sum over j
/// of weights[t, j] * products[places[t, j]], rows of n elements, n a multiple of 8. A thread makes
/// eight of them.
template <typename Element>
__device__ __forceinline__ void add_up_experts(const Element* products, const float* weights,
                                               const int* places, Element* y, int tokens, int top,
                                               int n) {
  const long long at =
      (blockIdx.x * static_cast<long long>(blockDim.x) + static_cast<int>(threadIdx.x)) * 8;
  const long long token = at / n;
  grid_wait();
  if (token >= tokens) return;
  float sums[8] = {};
#pragma unroll 4
  for (int choice = 0; choice < top; ++choice) {
    const float weight = weights[token * top + choice];
    const long long row = places[token * top + choice];
    const Chunk chunk = *reinterpret_cast<const Chunk*>(products + row * n + at % n);
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      float pair[2];
      unpack(Element{}, chunk.word[word], pair);
      sums[word * 2] = fmaf(weight, pair[0], sums[word * 2]);
      sums[word * 2 + 1] = fmaf(weight, pair[1], sums[word * 2 + 1]);
    }
  }
  Chunk packed;
#pragma unroll
  for (int word = 0; word < 4; ++word) {
    packed.word[word] = pack(Element{}, sums[word * 2], sums[word * 2 + 1]);
  }
  *reinterpret_cast<Chunk*>(y + at) = packed;
}
