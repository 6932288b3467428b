#pragma once

// The second launch of a product whose sums over K were made in parts, by SPLIT_K or by STREAM_K.

#include "common/wgmma/stores.cuh"
#include "common/wgmma/tile_source.cuh"

/// C, or those tiles of it that stream-K has cut, = the sum of their parts in the order of the
/// slices, transformed. A block of 128 threads makes 64 x 8 outputs; `workers` are the clusters of
/// the first launch.
template <typename G, typename Output>
__device__ __forceinline__ void reduce_block(const typename DenseTiles<G>::Problem& problem,
                                             const Output& output, int workers) {
  using Tiles = DenseTiles<G>;
  constexpr int kGroups = G::kSharers * G::kOutputTiles * G::kOutputColumns;  // in a block's tile
  const UnitWalk walk = problem.walk();
  const int group = static_cast<int>(blockIdx.x) % kGroups;
  const int rank = static_cast<int>(blockIdx.x) / kGroups % G::kLayer;
  const int reduced = static_cast<int>(blockIdx.x) / kGroups / G::kLayer;
  const Group at = {group / G::kOutputColumns, group % G::kOutputColumns};

  SumGroup<G> sums = {};
  const auto add = [&](int part) {
    const PartialTile<G> tile = {output.partial +
                                 static_cast<long long>(part * G::kLayer + rank) * G::kTileSize};
#pragma unroll
    for (int product = 0; product < G::kProducts; ++product) {
      const Quad term = tile.load(G::accumulators_of(at, product));
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[product][e] += term.lane[e];
    }
  };
  int unit = reduced;
  if constexpr (G::kStream) {
    const StreamWalk stream = {walk.count(), problem.num_slices(), workers};
    unit += stream.first_cut();
    const int last = stream.last_worker(reduced);
#pragma unroll 1
    for (int worker = stream.first_worker(reduced); worker <= last; ++worker) {
      add(stream.partial_of(worker, reduced));
    }
  } else {
#pragma unroll
    for (int split = 0; split < G::kSplitK; ++split) {
      add(split * (walk.count() / G::kSplitK) + reduced);
    }
  }

  const Corner corner =
      Tiles::corner_of(walk.at(unit).tile, cluster_place(rank, G::kClusterM, G::kClusterN));
  const int first_long = corner.first_long<G>() / G::kLongProducts + WarpRows().first(at.tile);
  const int first_wide = corner.first_wide<G>() / G::kWideProducts + at.column * 8;
  StoreGroup<G, Output>{output, problem.m}(sums, first_long, first_wide);
}
