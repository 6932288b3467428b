#pragma once

// A warp's piece of a tile: which rows it reads from shared memory and how it multiplies them.

#include "common/gemm_config.cuh"
#include "common/ptx/ldmatrix.cuh"
#include "common/ptx/mma.cuh"
#include "common/swizzle.cuh"

/// fp32 sums of one warp, four to a lane for each mma.
using Sums = float[kTilesM][kTilesN][4];

/// Operands of one mma step, as ldmatrix delivers them.
struct Fragments {
  unsigned a[kTilesM][4];
  unsigned b[kTilesN / 2][4];  // two neighbouring mma columns at once
};

/// Where the warp of this thread stands in the block.
struct WarpPlace {
  int m;        // first row of its piece
  int n;        // first column
  int k_group;  // which of the WARPS_K groups

  __device__ __forceinline__ WarpPlace() {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int in_group = warp % (kWarps / kWarpsK);
    k_group = warp / (kWarps / kWarpsK);
    m = in_group / kWarpGrid.n * kWarpM;
    n = in_group % kWarpGrid.n * kWarpN;
  }
};

/// Reads fragments out of a stage (the slice of A, and after it the slice of B).
struct FragmentReader {
  unsigned a_row, b_row;      // byte offsets of this lane's rows in a stage
  unsigned a_chunk, b_chunk;  // byte offsets of its chunk at step 0, swizzled

  __device__ __forceinline__ explicit FragmentReader(const WarpPlace& place) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int first_chunk = place.k_group * kSteps * 2;
    // A: rows 0-7, rows 8-15, then the same rows eight columns on. B: rows 0-7 twice, eight columns
    // apart, then rows 8-15.
    const int a_line = place.m + lane % 16;
    const int b_line = place.n + lane % 8 + lane / 16 * 8;
    a_row = a_line * kRowBytes;
    b_row = kSliceBytesA + b_line * kRowBytes;
    a_chunk = swizzled<kRowChunks>(a_line, first_chunk + lane / 16) * 16;
    b_chunk = swizzled<kRowChunks>(b_line, first_chunk + lane / 8 % 2) * 16;
  }

  /// Step `step` starts 2 * step chunks on. XOR carries that into the swizzled offset, because the
  /// bits of the step and of the first chunk do not overlap; rows 16 apart swizzle alike.
  __device__ __forceinline__ void read(Fragments& to, unsigned stage, int step) const {
    const unsigned a = stage + a_row + (a_chunk ^ (step * 32));
    const unsigned b = stage + b_row + (b_chunk ^ (step * 32));
#pragma unroll
    for (int i = 0; i < kTilesM; ++i) ldmatrix_x4(to.a[i], a + i * 16 * kRowBytes);
#pragma unroll
    for (int j = 0; j < kTilesN / 2; ++j) ldmatrix_x4(to.b[j], b + j * 16 * kRowBytes);
  }
};

/// Row `i` of a warp's mma instructions for one step.
template <typename Element>
__device__ __forceinline__ void multiply_row(Sums& sums, const Fragments& from, int i) {
#pragma unroll
  for (int jj = 0; jj < kTilesN; ++jj) {
    // There and back: the operand at the turn is still in the register cache.
    const int j = i % 2 == 0 ? jj : kTilesN - 1 - jj;
    mma_m16n8k16(Element{}, sums[i][j], from.a[i], from.b[j / 2][j % 2 * 2],
                 from.b[j / 2][j % 2 * 2 + 1]);
  }
}
