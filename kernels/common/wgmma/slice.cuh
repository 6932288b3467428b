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

/// Issues the wgmma that add columns [kFirst * 16, kEnd * 16) of a slice to the sums. The slices
/// are given as panel_address.
template <typename Element, int kFirst, int kEnd, int kLongRows, int kLongTiles, int kHalf>
__device__ __forceinline__ void multiply_steps(float (&sums)[kLongTiles][kHalf], unsigned long_rows,
                                               unsigned wide_rows) {
  constexpr int kWide = kHalf * 2;
#pragma unroll
  for (int step = kFirst; step < kEnd; ++step) {  // 16 columns, 32 bytes; four to a panel
    const int panel = step / 4, column = step % 4 * 2;
    const unsigned wide = wide_rows + panel * (kWide * 8) + column;
#pragma unroll
    for (int i = 0; i < kLongTiles; ++i) {
      const unsigned rows = long_rows + panel * (kLongRows * 8) + i * 512 + column;
      Wgmma<kWide>::multiply(Element{}, sums[i], panel_descriptor(rows), panel_descriptor(wide), 1);
    }
  }
}

/// Keeps the compiler from moving uses of the sums above a wgmma_wait.
template <int kHalf>
__device__ __forceinline__ void pin(float (&sums)[kHalf]) {
#pragma unroll
  for (int j = 0; j < kHalf; ++j) asm volatile("" : "+f"(sums[j])::"memory");
}
