#pragma once

// The second launch of a product whose sums were split over K.

#include "common/ptx/cvt.cuh"
#include "common/types.cuh"

/// C = the sum of the kSplits partials, in their order. Each thread makes four elements of C.
template <int kSplits, typename Element>
__device__ __forceinline__ void reduce_partials(const float* partial, Element* c, long long size) {
  const long long first = (blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x) * 4;
  if (size % 4 == 0 && first < size) {
    struct alignas(8) Packed {
      unsigned word[2];
    };
    Quad sum = {};
#pragma unroll
    for (int split = 0; split < kSplits; ++split) {
      const Quad term = *reinterpret_cast<const Quad*>(partial + split * size + first);
#pragma unroll
      for (int i = 0; i < 4; ++i) sum.lane[i] += term.lane[i];
    }
    *reinterpret_cast<Packed*>(c + first) = {pack(Element{}, sum.lane[0], sum.lane[1]),
                                             pack(Element{}, sum.lane[2], sum.lane[3])};
  } else {
#pragma unroll 1
    for (long long i = first; i < size && i < first + 4; ++i) {
      float sum = 0;
#pragma unroll 1
      for (int split = 0; split < kSplits; ++split) sum += partial[split * size + i];
      c[i].bits = static_cast<unsigned short>(pack(Element{}, sum, 0.0f));
    }
  }
}
