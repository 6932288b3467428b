#pragma once

// As moe_mma.cu, with more in the epilogue: rows lie in the order of their experts, and each is
// multiplied by its expert's matrices.

#include "common/experts/tiles.cuh"
#include "common/gemm_mma_fused.cuh"

/// What the table of tiles wants to know of them.
struct TileRows {
  static constexpr int kBlockM = ::kBlockM;
  static constexpr int kClusterM = 1;
};

/// The block's tile of C [pairs, n], from A [pairs, k] and its expert's part of
/// B [experts, kProducts * n, k]. The table of tiles lies behind `table_offset` bytes of dynamic
/// shared memory. Blocks without a tile end at once.
template <typename Transform, typename Element>
__device__ __forceinline__ void expert_tile(const int* starts, const Element* a, const Element* b,
                                            Element* c, float* partial, int pairs, int experts,
                                            int n, int k, int table_offset,
                                            const Transform& transform) {
  extern __shared__ __align__(128) unsigned char smem[];
  int* const rows = reinterpret_cast<int*>(smem + table_offset);
  const ExpertTable table = {rows, rows + experts + 1, experts};
  if (threadIdx.x < 32) make_expert_table<TileRows>(starts, experts, rows, rows + experts + 1);
  __syncthreads();
  const int unit = static_cast<int>(blockIdx.x), tiles_n = cdiv(n, kOutputColumns<Transform>);
  if (unit >= table.first_tile[experts] * tiles_n) return;
  const int expert = table.expert_of(unit / tiles_n);
  const int first_tile = table.first_tile[expert];
  const Tile tile = tile_at(kSchedule, unit - first_tile * tiles_n,
                            table.first_tile[expert + 1] - first_tile, tiles_n, kGroupM);
  const TilePlace place = {table.first_row[expert] + tile.m * kBlockM, table.first_row[expert + 1],
                           tile.n};
  const long long matrix = static_cast<long long>(Transform::kProducts) * n * k;
  fused_product(a, b + expert * matrix, c, partial, place, pairs, n, k, transform, smem);
}
