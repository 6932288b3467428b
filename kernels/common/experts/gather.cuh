#pragma once

#include "common/types.cuh"

/// A launch ahead: block i copies row tokens[i] of x [.., k], in pieces of 16 bytes, to row i.
template <typename Element>
__device__ __forceinline__ void copy_token(const Element* x, const int* tokens, Element* copied,
                                           int k) {
  const long long from = tokens[blockIdx.x], to = blockIdx.x;
  const Chunk* source = reinterpret_cast<const Chunk*>(x + from * k);
  Chunk* target = reinterpret_cast<Chunk*>(copied + to * k);
#pragma unroll 4
  for (int chunk = static_cast<int>(threadIdx.x); chunk < k / 8;
       chunk += static_cast<int>(blockDim.x)) {
    target[chunk] = source[chunk];
  }
}
