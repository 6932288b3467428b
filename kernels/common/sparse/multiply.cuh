#pragma once

// The main loop of a sparse FFN's products: slices out of a ring in shared memory, by mma.sync.

#include "common/ptx/cp_async.cuh"
#include "common/ptx/ldmatrix.cuh"
#include "common/ptx/ldmatrix_transposed.cuh"
#include "common/ptx/mma.cuh"
#include "common/sparse/shape.cuh"

template <typename Shape>
using TileSums = float[Shape::kProducts][Shape::kTilesM][Shape::kTilesN][4];

/// sums += one slice.
template <typename Shape, Weights kLayout, typename Element>
__device__ __forceinline__ void add_slice(TileSums<Shape>& sums,
                                          const SliceAddresses<Shape, kLayout>& addresses,
                                          unsigned stage, Element) {
  constexpr int kPairs = cdiv(Shape::kTilesN, 2);  // ldmatrix brings two mma columns at once
#pragma unroll
  for (int step = 0; step < Shape::kSteps; ++step) {
    unsigned tokens[Shape::kTilesM][4];
#pragma unroll
    for (int i = 0; i < Shape::kTilesM; ++i) {
      ldmatrix_x4(tokens[i], stage + addresses.tokens(i, step));
    }
#pragma unroll
    for (int product = 0; product < Shape::kProducts; ++product) {
      unsigned weights[kPairs][4];
#pragma unroll
      for (int pair = 0; pair < kPairs; ++pair) {
        const unsigned from = stage + addresses.weights(product, pair, step);
        if constexpr (kLayout == Weights::columns_as_rows) {
          ldmatrix_x4(weights[pair], from);
        } else {
          ldmatrix_x4_transposed(weights[pair], from);
        }
      }
#pragma unroll
      for (int i = 0; i < Shape::kTilesM; ++i) {
#pragma unroll
        for (int j = 0; j < Shape::kTilesN; ++j) {
          mma_m16n8k16(Element{}, sums[product][i][j], tokens[i], weights[j / 2][j % 2 * 2],
                       weights[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
  }
}

/// Adds up `count` slices. The copies of the first kStages of them are under way, a group each.
/// `refill(stage, slice)` starts those of a later one.
template <typename Shape, Weights kLayout, typename Element, typename Refill>
__device__ __forceinline__ void add_slices(TileSums<Shape>& sums, const WarpShare<Shape>& warp,
                                           unsigned ring, int count, const Refill& refill) {
  const SliceAddresses<Shape, kLayout> addresses(warp, static_cast<int>(threadIdx.x) % 32);
  const unsigned last = ring + Shape::kRingBytes - Shape::kStageBytes;
  unsigned stage = ring, before = last;
#pragma unroll 1
  for (int slice = 0; slice < count; ++slice) {
    if (slice == 0) {
      cp_async_wait<Shape::kStages - 1>();
      __syncthreads();
    } else {
      cp_async_wait<Shape::kStages - 2>();
      __syncthreads();  // also: all have read the stage before
      if (slice - 1 + Shape::kStages < count) refill(before, slice - 1 + Shape::kStages);
      cp_async_commit();
    }
    add_slice(sums, addresses, stage, Element{});
    before = stage;
    stage = stage == last ? ring : stage + Shape::kStageBytes;
  }
}
