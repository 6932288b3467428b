#pragma once

// From sums in registers to C, or to one split's fp32 partial of C. Shared memory is free again
// when these are called.

#include "common/gemm_config.cuh"
#include "common/ptx/cvt.cuh"
#include "common/warp_mma.cuh"

/// Adds the sums of all WARPS_K groups into those of group 0, in the order of the groups.
__device__ __forceinline__ void add_groups(Sums& sums, int k_group, float* smem) {
  constexpr int kPerThread = kTilesM * kTilesN * 4;
  float* flat = &sums[0][0][0];
  const int in_group = static_cast<int>(threadIdx.x) % kGroupThreads;
  if (k_group > 0) {
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      smem[((k_group - 1) * kPerThread + i) * kGroupThreads + in_group] = flat[i];
    }
  }
  __syncthreads();
  if (k_group == 0) {
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
      for (int group = 1; group < kWarpsK; ++group) {
        flat[i] += smem[((group - 1) * kPerThread + i) * kGroupThreads + in_group];
      }
    }
  }
  __syncthreads();
}

/// Rounds the sums and writes the tile whose first element is (first_m, first_n) of C [m, n]:
/// through shared memory, so that whole rows of the tile leave in 16-byte stores.
template <typename Element>
__device__ __forceinline__ void store_tile(const Sums& sums, const WarpPlace& place, Element* c,
                                           int first_m, int first_n, int m, int n,
                                           unsigned char* smem) {
  // Eight elements of padding shift each row by four banks: the 8 x 4 lanes of one store, eight
  // rows apart, hit 32 different banks.
  constexpr int kPitch = kBlockN + 8;
  Element* staged = reinterpret_cast<Element*>(smem);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (kWarpsK == 1 || place.k_group == 0) {
#pragma unroll
    for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
      for (int j = 0; j < kTilesN; ++j) {
        Element* at =
            staged + (place.m + i * 16 + lane / 4) * kPitch + place.n + j * 8 + lane % 4 * 2;
        *reinterpret_cast<unsigned*>(at) = pack(Element{}, sums[i][j][0], sums[i][j][1]);
        *reinterpret_cast<unsigned*>(at + 8 * kPitch) =
            pack(Element{}, sums[i][j][2], sums[i][j][3]);
      }
    }
  }
  __syncthreads();

  const bool aligned = n % 8 == 0 && reinterpret_cast<unsigned long long>(c) % 16 == 0;
  constexpr int kChunks = kBlockM * kBlockN / 8;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < kChunks; i += kThreads) {
    const int tile_row = i / (kBlockN / 8), tile_col = i % (kBlockN / 8) * 8;
    const int at_m = first_m + tile_row, at_n = first_n + tile_col;
    if (at_m >= m || at_n >= n) continue;
    const Element* from = staged + tile_row * kPitch + tile_col;
    Element* to = c + static_cast<long long>(at_m) * n + at_n;
    if (aligned) {
      *reinterpret_cast<Chunk*>(to) = *reinterpret_cast<const Chunk*>(from);
    } else {
#pragma unroll 1
      for (int e = 0; e < smaller(8, n - at_n); ++e) to[e] = from[e];
    }
  }
}

/// Writes the sums to `partial` [m, n] as they are. The four lanes of a row fill a 32-byte sector.
__device__ __forceinline__ void store_partial(const Sums& sums, const WarpPlace& place,
                                              float* partial, int first_m, int first_n, int m,
                                              int n) {
  struct alignas(8) Pair {
    float first, second;
  };
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (kWarpsK > 1 && place.k_group > 0) return;
#pragma unroll
  for (int i = 0; i < kTilesM * 2; ++i) {
    const int at_m = first_m + place.m + i * 8 + lane / 4;
    if (at_m >= m) continue;
    float* row = partial + static_cast<long long>(at_m) * n;
#pragma unroll
    for (int j = 0; j < kTilesN; ++j) {
      const int at_n = first_n + place.n + j * 8 + lane % 4 * 2;
      const float* pair = &sums[i / 2][j][i % 2 * 2];
      if (n % 2 == 0) {
        if (at_n < n) *reinterpret_cast<Pair*>(row + at_n) = {pair[0], pair[1]};
      } else {
        if (at_n < n) row[at_n] = pair[0];
        if (at_n + 1 < n) row[at_n + 1] = pair[1];
      }
    }
  }
}
