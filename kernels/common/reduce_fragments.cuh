#pragma once

// The second launch of a wgmma product whose sums over K were made in parts, by SPLIT_K or by
// STREAM_K.

#include "common/gemm_wgmma.cuh"

/// C, or those tiles of it that stream-K has cut, = the sum of their parts in the order of the
/// slices. A block of 128 threads makes 64 x 8 elements; `workers` as in the first launch.
template <typename Element>
__device__ __forceinline__ void reduce_fragments(const float* partial, Element* c, int m, int n,
                                                 int k, int workers) {
  constexpr int kGroups = kLong / 64 * (kWide / 8);  // in a block's tile
  const UnitWalk walk = walk_of(m, n);
  const int group = static_cast<int>(blockIdx.x) % kGroups;
  const int rank = static_cast<int>(blockIdx.x) / kGroups % kLayer;
  const int reduced = static_cast<int>(blockIdx.x) / kGroups / kLayer;
  const int row = group / (kWide / 8) * 64, col = group % (kWide / 8) * 8;

  float sum[4] = {};
  const auto add = [&](int part) {
    const float* tile = partial + static_cast<long long>(part * kLayer + rank) * kTileSize;
    const Quad term = *reinterpret_cast<const Quad*>(tile + StoreFragment<kWide>::offset(row, col) +
                                                     static_cast<int>(threadIdx.x) * 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[i] += term.lane[i];
  };
  int unit = reduced;
  if constexpr (kStream) {
    const StreamWalk stream = {walk.count(), cdiv(k, kBlockK), workers};
    unit += stream.first_cut();
    const int last = stream.last_worker(reduced);
#pragma unroll 1
    for (int worker = stream.first_worker(reduced); worker <= last; ++worker) {
      add(stream.partial_of(worker, reduced));
    }
  } else {
#pragma unroll
    for (int split = 0; split < kSplitK; ++split) add(split * (walk.count() / kSplitK) + reduced);
  }

  const Corner corner = corner_of(walk.at(unit).tile, cluster_place(rank, kClusterM, kClusterN));
  const int first_long = corner.first_long() + row + WarpRows().first(0);
  const int first_wide = corner.first_wide() + col;
  if constexpr (kSwap) {
    StoreGroupTransposed<Element>{c, m, n}(sum, first_long, first_wide);
  } else {
    StoreGroup<Element>{c, m, n}(sum, first_long, first_wide);
  }
}
