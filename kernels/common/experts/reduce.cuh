#pragma once

// The second launch of a product with experts whose sums over K were made in parts, and sums that
// blocks add to by atomics.

#include "common/experts/block.cuh"

/// As the primary one (wgmma/stores.cuh), of sums that several blocks add to, in any order. They
/// are zeros at first.
template <typename G>
requires(G::kAtomic) struct PartialTile<G> {
  float* sums;

  static ASSAY_HD constexpr int offset(Group group) {
    return (group.tile * (G::kWide / 8) + group.column) * 512;
  }
  __device__ __forceinline__ float* at(Group group) const {
    return sums + offset(group) + static_cast<int>(threadIdx.x % 128) * 4;
  }
  __device__ __forceinline__ void store(const float (&four)[4], Group group) const {
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(at(group)), "f"(four[0]),
                 "f"(four[1]), "f"(four[2]), "f"(four[3])
                 : "memory");
  }
  __device__ __forceinline__ Quad load(Group group) const {
    return *reinterpret_cast<const Quad*>(at(group));
  }
};

/// C is the product, and may be written when the launch ahead has ended.
struct AfterLaunchAhead : Identity {
  __device__ __forceinline__ void wait() const { grid_wait(); }
};

/// C = the sums of the parts of each tile in the order of K, or what atomics have made of them. A
/// block of 128 threads makes 64 x 8 outputs. The table of tiles lies in dynamic shared memory.
template <typename G, typename Output>
__device__ __forceinline__ void reduce_experts(const int* starts, int num_experts, int n, int k,
                                               const Output& output) {
  constexpr int kGroups = G::kSharers * G::kOutputTiles * G::kOutputColumns;  // in a block's tile
  constexpr int kParts = G::kAtomic ? 1 : G::kSplitK;
  extern __shared__ int rows[];
  int* const first_tile = rows + num_experts + 1;
  if (threadIdx.x < 32) make_expert_table<G>(starts, num_experts, rows, first_tile);
  __syncthreads();
  const int group = static_cast<int>(blockIdx.x) % kGroups;
  const int rank = static_cast<int>(blockIdx.x) / kGroups % G::kLayer;
  const int reduced = static_cast<int>(blockIdx.x) / kGroups / G::kLayer;
  const Group at = {group / G::kOutputColumns, group % G::kOutputColumns};
  const ExpertTiles<G> tiles({{rows, first_tile, num_experts}, n, k},
                             cluster_place(rank, G::kClusterM, G::kClusterN), reduced * G::kSplitK,
                             1);
  if (tiles.count() == 0) return;
  const Work work = tiles.at(0);
  const Corner corner = tiles.corner(work);
  const int first_long = corner.first_long<G>() / G::kLongProducts + WarpRows().first(at.tile);
  const int first_wide = corner.first_wide<G>() / G::kWideProducts + at.column * 8;
  grid_wait();
  SumGroup<G> sums = {};
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    const auto tile = partial_tile<G>(output.partial, reduced * kParts + part, rank);
#pragma unroll
    for (int product = 0; product < G::kProducts; ++product) {
      const Quad term = tile.load(G::accumulators_of(at, product));
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[product][e] += term.lane[e];
    }
  }
  StoreGroup<G, Output>{output, tiles.end_m(work)}(sums, first_long, first_wide);
}
