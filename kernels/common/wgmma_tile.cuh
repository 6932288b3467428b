#pragma once

// A warpgroup's piece of a tile: kLongTiles times 64 rows of the long operand against all kWide
// rows of the wide one. Operands lie in shared memory in panels of 64 columns, 128 bytes a row,
// swizzled.

#include "common/ptx/wgmma.cuh"
#include "common/types.cuh"

/// fp32 sums of one thread; of each eight columns it holds four, as wgmma.cuh says.
template <int kLongTiles, int kWide>
using WgmmaSums = float[kLongTiles][kWide / 2];

/// What wgmma takes for an address: rows of 128 bytes, eight of them to a swizzled block of 1024.
/// The low bits count 16 bytes, so a descriptor moves by (bytes / 16).
__device__ __forceinline__ unsigned long long panel_descriptor(unsigned shared) {
  constexpr unsigned long long kSwizzle128 = 1ull << 62;
  constexpr unsigned long long kBlockStride = (1024ull >> 4) << 32;
  constexpr unsigned long long kIgnoredWhenSwizzled = 1ull << 16;
  return kSwizzle128 | kBlockStride | kIgnoredWhenSwizzled | ((shared & 0x3FFFF) >> 4);
}

/// Issues the wgmma that add one slice to the sums.
template <typename Element, int kPanels, int kLongRows, int kLongTiles, int kWide>
__device__ __forceinline__ void multiply_slice(float (&sums)[kLongTiles][kWide / 2],
                                               unsigned long long long_rows,
                                               unsigned long long wide_rows) {
#pragma unroll
  for (int panel = 0; panel < kPanels; ++panel) {
#pragma unroll
    for (int step = 0; step < 4; ++step) {  // 16 columns, 32 bytes
      const unsigned long long wide = wide_rows + panel * (kWide * 8) + step * 2;
#pragma unroll
      for (int i = 0; i < kLongTiles; ++i) {
        Wgmma<kWide>::multiply(Element{}, sums[i],
                               long_rows + panel * (kLongRows * 8) + i * 512 + step * 2, wide, 1);
      }
    }
  }
}

/// The same for 64 of the long rows.
template <typename Element, int kPanels, int kLongRows, int kHalf>
__device__ __forceinline__ void multiply_64_rows(float (&sums)[kHalf], unsigned long long long_rows,
                                                 unsigned long long wide_rows) {
#pragma unroll
  for (int panel = 0; panel < kPanels; ++panel) {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      Wgmma<kHalf * 2>::multiply(Element{}, sums, long_rows + panel * (kLongRows * 8) + step * 2,
                                 wide_rows + panel * (kHalf * 16) + step * 2, 1);
    }
  }
}

/// Keeps the compiler from moving uses of the sums above a wgmma_wait.
template <int kHalf>
__device__ __forceinline__ void pin(float (&sums)[kHalf]) {
#pragma unroll
  for (int j = 0; j < kHalf; ++j) asm volatile("" : "+f"(sums[j])::"memory");
}
