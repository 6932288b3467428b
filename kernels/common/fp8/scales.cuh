#pragma once

// The scales of a block-scaled product: A has one for each row of 128 columns, B one for each
// 128 x 128. A's of a slice arrive in shared memory with it; B's are read by every thread, one
// slice ahead.

#include "common/fp8/scale_runs.cuh"
#include "common/fp8/scales_ahead.cuh"
#include "common/wgmma/block.cuh"

/// Scales of B, and where those of A are read from.
struct Scales {
  const TensorMap* a_map;  // of A's [cdiv(k, 128), m], boxes of kBlockM
  const float* b;          // [cdiv(n, 128), cdiv(k, 128)]
  int b_pitch;             // from one row of `b` to the next
  int b_rows;
};

/// Where what a stage has of scales begins in shared memory, behind what gemm_block has there.
template <typename G>
ASSAY_HD constexpr int scales_offset(int stage) {
  constexpr int kFirst = cdiv(SharedLayout<G>::kEnd, 128) * 128;
  return kFirst + stage * (cdiv(ScaleStage<G>::kBytes, 128) * 128);
}

/// Where what lies behind the scales of all stages, and with kScalesAhead the barriers of their
/// products, begins.
template <typename G>
constexpr int kScalesEnd = scales_offset<G>(G::kStages) +
                           (G::kScalesAhead ? kRingBarrierBytes<G::kStages> : 0);

/// With kScalesAhead: `full` completes when a stage's products are there, `empty` when all
/// consumers have taken theirs. All lanes arrive, since racecheck credits an arrival to its own
/// lane, even behind a __syncwarp.
template <typename G>
__device__ __forceinline__ Ring<G::kStages> products_ring(unsigned stages) {
  return {stages + scales_offset<G>(G::kStages)};
}

/// As Ring::init, of products_ring.
template <typename G>
__device__ __forceinline__ void init_products(const Ring<G::kStages>& products) {
#pragma unroll
  for (int stage = 0; stage < G::kStages; ++stage) {
    mbarrier_init(products.full(stage), 32);
    mbarrier_init(products.empty(stage), G::kConsumerThreads);
  }
}

/// What a thread's partial sums of 64 rows are multiplied by.
template <typename G>
struct PartialScale {
  using Runs = ScaleRuns<G::kBlockN>;
  /// Of A: of the thread's two rows, or with kSwap of its two columns of each eight.
  float a[G::kSwap ? G::kWide / 4 : 2];
  /// Of B: of each block of rows that the tile has; with kSwap of the 64 rows, and with
  /// kScalesAhead `a` has been multiplied by it.
  float b[G::kSwap ? 1 : Runs::kBlocks];

  /// With kSwap, of the thread's `i`th column.
  __device__ __forceinline__ float of_column(int i) const {
    return G::kScalesAhead ? a[i] : a[i] * b[0];
  }
};

/// Which row of A's scales in a stage is the tile's first.
template <bool kAnyRow>
struct FirstScale {
  int first_a;
};
template <>
struct FirstScale<false> {
  static constexpr int first_a = 0;
};

/// The scales of B of a tile: a row of them for each of its blocks of rows.
template <typename G>
struct WeightScales {
  using Runs = ScaleRuns<G::kBlockN>;
  static constexpr int kBlocks = Runs::kBlocks;

  const float* b;        // the row of the tile's first block
  int pitches[kBlocks];  // from there to the others
  int first_n;
  float next[kBlocks];  // of the slice that comes next

  /// Of the tile whose first row of B is `tile_n`; begins to read those of its first slice.
  __device__ __forceinline__ void begin(const Scales& scales, int tile_n, int first_slice) {
    // A cluster's last tiles may begin beyond the matrix.
    const int block = smaller(tile_n / kScaleBlock, scales.b_rows / G::kProducts - 1);
    b = scales.b + static_cast<long long>(block) * scales.b_pitch;
    first_n = tile_n;
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      // Of two products the second has its blocks behind those of the first.
      const int next_block = G::kProducts > 1 ? i * scales.b_rows / G::kProducts
                                              : smaller(i, scales.b_rows - 1 - block);
      pitches[i] = next_block * scales.b_pitch;
    }
    fetch(first_slice);
  }

  /// Begins to read those of a slice.
  __device__ __forceinline__ void fetch(int slice) {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) next[i] = b[pitches[i] + slice];
  }

  /// The same, where `at` points to the slice's of the first block. In assembly, or ptxas would
  /// move what was read to a uniform register, for which the warp would wait.
  __device__ __forceinline__ void fetch_at(const float* at) {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      asm volatile("ld.global.f32 %0, [%1];" : "=f"(next[i]) : "l"(at + pitches[i]));
    }
  }
};

/// The scales of a warpgroup's tile.
template <typename G>
struct TileScales : FirstScale<(G::kSpareScales > 0)>, WeightScales<G> {
  using Runs = ScaleRuns<G::kBlockN>;
  using WeightScales<G>::kBlocks, WeightScales<G>::next, WeightScales<G>::first_n;

  /// Those of the slice that was fetched last, for the `tile`th 64 rows of the block's tile. With
  /// kSwap, all of them have the same of A, which `scale` has already unless it is the `first`.
  /// With kScalesAhead, those of a stage of products_ring that is full.
  __device__ __forceinline__ void take(PartialScale<G>& scale, const unsigned char* of_stage,
                                       int tile, bool first) const {
    const float* a = reinterpret_cast<const float*>(of_stage) + this->first_a;
    const WarpRows rows;
    if constexpr (G::kScalesAhead) {
      take_products<G>(scale.a, of_stage);
    } else if constexpr (G::kSwap) {
      float of_rows = next[0];
#pragma unroll
      for (int i = 1; i < kBlocks; ++i) {
        const int block =
            G::kProducts > 1 ? tile % G::kProducts : Runs::block_of(first_n, tile * 64);
        if (block >= i) of_rows = next[i];
      }
      scale.b[0] = of_rows;
      if (G::kKeepsScales && !first) return;
#pragma unroll
      for (int group = 0; group < G::kWide / 8; ++group) {
        struct alignas(G::kSpareScales > 0 ? 4 : 8) Two {
          float lane[2];
        };
        const Two two = *reinterpret_cast<const Two*>(a + group * 8 + rows.lane % 4 * 2);
        scale.a[group * 2] = two.lane[0];
        scale.a[group * 2 + 1] = two.lane[1];
      }
    } else {
      scale.a[0] = a[rows.first(tile) + rows.lane / 4];
      scale.a[1] = a[rows.first(tile) + rows.lane / 4 + 8];
#pragma unroll
      for (int i = 0; i < kBlocks; ++i) scale.b[i] = next[i];
    }
  }

  /// The same without kSwap, read here and not where the compiler likes. `of_stage` is a shared
  /// address.
  __device__ __forceinline__ void take_here(PartialScale<G>& scale, unsigned of_stage,
                                            int tile) const {
    const WarpRows rows;
    const unsigned a = of_stage + (rows.first(tile) + rows.lane / 4 + this->first_a) * 4;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(scale.a[0]) : "r"(a));
    asm volatile("ld.shared.f32 %0, [%1+32];" : "=f"(scale.a[1]) : "r"(a));
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) scale.b[i] = next[i];
  }

  template <bool kAdd>
  static __device__ __forceinline__ void add(float& sum, float partial, float scale) {
    sum = kAdd ? fmaf(partial, scale, sum) : partial * scale;
  }

  /// sums (+)= partial * scale
  template <bool kAdd, int kHalf>
  __device__ __forceinline__ void promote(float (&sums)[kHalf], const float (&partial)[kHalf],
                                          const PartialScale<G>& scale) const {
    if constexpr (G::kSwap) {
#pragma unroll
      for (int group = 0; group < G::kWide / 8; ++group) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          add<kAdd>(sums[group * 4 + e], partial[group * 4 + e],
                    scale.of_column(group * 2 + e % 2));
        }
      }
    } else {
#pragma unroll
      for (int column = 0; column < G::kWide; column += Runs::kLength) {
        float of_columns = scale.b[0];
#pragma unroll
        for (int i = 1; i < kBlocks; ++i) {
          if (Runs::block_of(first_n, column) >= i) of_columns = scale.b[i];
        }
        const float both[2] = {scale.a[0] * of_columns, scale.a[1] * of_columns};
#pragma unroll
        for (int j = column / 2; j < (column + Runs::kLength) / 2; ++j) {
          add<kAdd>(sums[j], partial[j], both[j / 2 % 2]);
        }
      }
    }
  }
};
