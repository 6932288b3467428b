#pragma once

// A warpgroup's piece of a tile: G::kLongTiles times 64 rows of the long operand against all kWide
// rows of the wide one. Operands lie in shared memory in panels of 64 columns, 128 bytes a row,
// swizzled.

#include "common/ptx/wgmma.cuh"
#include "common/types.cuh"

/// The fp32 sums of one thread, its accumulators: of each eight columns it holds four, as wgmma.cuh
/// says.
template <typename G>
using Accumulators = float[G::kLongTiles][G::kWide / 2];

/// What wgmma takes for an address: rows of 128 bytes, eight of them to a swizzled block of 1024.
/// This is the half that differs from address to address: it counts 16 bytes, and has the stride
/// that swizzling ignores. Half of an address is half the arithmetic between two wgmma.
__device__ __forceinline__ unsigned panel_address(unsigned shared) {
  constexpr unsigned kIgnoredStride = 1u << 16;
  return kIgnoredStride + shared / 16;
}

__device__ __forceinline__ unsigned long long panel_descriptor(unsigned address) {
  constexpr unsigned long long kSwizzle128 = 1ull << 62;
  constexpr unsigned long long kBlockStride = (1024ull >> 4) << 32;
  return kSwizzle128 | kBlockStride | address;
}

/// How wgmma adds a step of a slice, 32 bytes of each row, to the sums of 64 rows, where K lies
/// along the rows of both operands. Other ways (tf32/block.cuh, sparse/wgmma.cuh) have the same
/// members.
template <typename G>
struct Steps {
  /// Ahead of a slice's first step.
  static __device__ __forceinline__ void fence() { wgmma_fence(); }
  /// Where the wide operand lies, as panel_address, and where a step begins there.
  static __device__ __forceinline__ unsigned wide_address(unsigned shared) {
    return panel_address(shared);
  }
  static ASSAY_HD constexpr unsigned wide_offset(int step) {
    return step / 4 * (G::kWide * 8) + step % 4 * 2;
  }
  static __device__ __forceinline__ void multiply(float (&sums)[G::kWide / 2],
                                                  unsigned long long long_rows,
                                                  unsigned long long wide_rows) {
    Wgmma<G::kWide>::multiply(typename G::Element{}, sums, long_rows, wide_rows, 1);
  }
};

/// Issues the wgmma that add steps kFirst to kEnd of a slice to the sums, four steps to a panel.
/// The slices are given as panel_address.
template <typename G, typename StepsOfG, int kFirst, int kEnd, int kLongTiles>
__device__ __forceinline__ void multiply_steps(float (&sums)[kLongTiles][G::kWide / 2],
                                               unsigned long_rows, unsigned wide_rows) {
#pragma unroll
  for (int step = kFirst; step < kEnd; ++step) {
    const unsigned wide = wide_rows + StepsOfG::wide_offset(step);
#pragma unroll
    for (int i = 0; i < kLongTiles; ++i) {
      const unsigned rows = long_rows + step / 4 * (G::kLong * 8) + i * 512 + step % 4 * 2;
      StepsOfG::multiply(sums[i], panel_descriptor(rows), panel_descriptor(wide));
    }
  }
}

/// Keeps the compiler from moving uses of the sums above a wgmma_wait.
template <int kHalf>
__device__ __forceinline__ void pin(float (&sums)[kHalf]) {
#pragma unroll
  for (int j = 0; j < kHalf; ++j) asm volatile("" : "+f"(sums[j])::"memory");
}
