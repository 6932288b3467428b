#pragma once

// Scales that a warp of their own multiplies ahead. Where tokens are the wide side, a thread needs
// A's scales of a quarter of a tile's rows, each times B's: as many loads and multiplications, in
// each of 256 threads, as pairs of sums that it then adds to. So with kScalesAhead one warp
// multiplies them once, as soon as a slice is there, and lays the products out so that a thread
// reads four at a time.

#include "common/ptx/mbarrier.cuh"
#include "common/types.cuh"

/// What a stage has of scales: A's as they arrive, a float for each of the tile's rows. With
/// kScalesAhead then their products with B's, of which a tile has one.
template <typename G>
struct ScaleStage {
  /// From one lane's columns to the next one's, of four lanes. An odd multiple of 16 bytes: the
  /// four read from different banks.
  static constexpr int kPitch = 4 * (cdiv(G::kHighest, 16) | 1);
  static constexpr int kProducts = G::kScaleRows * 4;
  static constexpr int kBytes = kProducts + (G::kScalesAhead ? 4 * kPitch * 4 : 0);
};

/// Puts a stage's products there, by one warp: A's scales, the tile's from `first_a` on, times B's.
/// Not unrolled: a thread that multiplies no tiles has few registers, and ptxas would spill some.
template <typename G>
__device__ __forceinline__ void put_products(unsigned char* of_stage, int first_a, float of_b) {
  const float* a = reinterpret_cast<const float*>(of_stage) + first_a;
  float* products = reinterpret_cast<float*>(of_stage + ScaleStage<G>::kProducts);
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 1
  for (int first = 0; first < G::kHighest; first += 32) {
    const int column = first + lane;
    if (column < G::kHighest) {
      products[column % 8 / 2 * ScaleStage<G>::kPitch + column / 8 * 2 + column % 2] =
          a[column] * of_b;
    }
  }
}

/// Takes those of a thread's columns.
template <typename G, int kColumns>
__device__ __forceinline__ void take_products(float (&to)[kColumns],
                                              const unsigned char* of_stage) {
  const float* products = reinterpret_cast<const float*>(of_stage + ScaleStage<G>::kProducts) +
                          static_cast<int>(threadIdx.x) % 4 * ScaleStage<G>::kPitch;
#pragma unroll
  for (int i = 0; i + 4 <= kColumns; i += 4) {
    const float4 four = *reinterpret_cast<const float4*>(products + i);
    to[i] = four.x;
    to[i + 1] = four.y;
    to[i + 2] = four.z;
    to[i + 3] = four.w;
  }
  if constexpr (kColumns % 4 != 0) {
    const float2 two = *reinterpret_cast<const float2*>(products + kColumns - 2);
    to[kColumns - 2] = two.x;
    to[kColumns - 1] = two.y;
  }
}
