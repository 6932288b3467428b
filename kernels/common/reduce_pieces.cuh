#pragma once

// The second launch of a product whose last tiles were cut by stream-K.

#include "common/gemm_wgmma.cuh"

/// C of the tiles that were cut = the sum of their pieces, in the order of the slices. A block of
/// 128 threads makes 512 elements of one block's tile, and tiles follow each other.
template <typename Element>
__device__ __forceinline__ void reduce_pieces(const float* partial, Element* c, int m, int n, int k,
                                              int workers) {
  struct alignas(16) Quad {
    float lane[4];
  };
  constexpr int kTile = kBlockM * kBlockN;
  const UnitWalk walk = {kSchedule, kGroupM, cdiv(cdiv(m, kBlockM), kClusterM),
                         cdiv(cdiv(n, kBlockN), kClusterN), 1};
  const StreamWalk stream = {walk.count(), cdiv(k, kBlockK), workers};
  const int element =
      static_cast<int>(blockIdx.x) % (kTile / 512) * 512 + static_cast<int>(threadIdx.x) * 4;
  const int block = static_cast<int>(blockIdx.x) / (kTile / 512);
  const int rank = block % kLayer, cut = block / kLayer;

  Quad sum = {};
  const int last = stream.last_worker(cut);
#pragma unroll 1
  for (int worker = stream.first_worker(cut); worker <= last; ++worker) {
    const long long tile = stream.partial_of(worker, cut) * kLayer + rank;
    const Quad term = *reinterpret_cast<const Quad*>(partial + tile * kTile + element);
#pragma unroll
    for (int i = 0; i < 4; ++i) sum.lane[i] += term.lane[i];
  }

  const Tile tile = walk.at(stream.first_cut() + cut).tile;
  const ClusterPlace place = cluster_place(rank, kClusterM, kClusterN);
  const int row = (tile.m * kClusterM + place.m) * kBlockM + element / kBlockN;
  const int col = (tile.n * kClusterN + place.n) * kBlockN + element % kBlockN;
  if (row >= m) return;
  Element* to = c + static_cast<long long>(row) * n + col;
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const unsigned pair = pack(Element{}, sum.lane[i], sum.lane[i + 1]);
    if (n % 2 == 0 && col + i < n) {
      *reinterpret_cast<unsigned*>(to + i) = pair;
      continue;
    }
    if (col + i < n) to[i].bits = static_cast<unsigned short>(pair);
    if (col + i + 1 < n) to[i + 1].bits = static_cast<unsigned short>(pair >> 16);
  }
}
