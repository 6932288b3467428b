#pragma once

// What a block works on, in which order. Compiled by the host too: the tests walk it.
//
// A tile source is constructed in every thread from its `Problem` and the block's place in its
// cluster. It has
//   count()       how many pieces of work the block has
//   at(index)     the `index`th of them
//   corner(work)  where its tile begins
//   end_m(work)   where the rows of C end that it may write

#include "common/wgmma/geometry.cuh"

/// What a block does at a time: a tile, or a run of its slices. `partial` says which partial sums
/// that makes; -1: the tile's whole sum.
struct Work {
  int unit;
  SliceRange slices;
  int partial;
  int start = 0;  // the slice of the run that comes first, with G::kStaggered

  /// The `index`th slice when `start` comes first and the run's first follows its last.
  ASSAY_HD constexpr int staggered(int index) const {
    const int shifted = start + index;
    return slices.first + (shifted < slices.count ? shifted : shifted - slices.count);
  }
};

/// The first row of A and of B of a block's tile.
struct Corner {
  int m, n;

  template <typename G>
  ASSAY_HD constexpr int first_long() const {
    return G::kSwap ? n : m;
  }
  template <typename G>
  ASSAY_HD constexpr int first_wide() const {
    return G::kSwap ? m : n;
  }
};

/// All tiles of A[m,k] @ B[n,k]^T, as the tunables say.
template <typename G>
struct DenseTiles {
  struct Problem {
    int m, n, k;

    ASSAY_HD constexpr UnitWalk walk() const {
      return {G::kSchedule, G::kGroupM, cdiv(cdiv(m, G::kBlockM), G::kClusterM),
              cdiv(cdiv(n, G::kBlockN), G::kClusterN), G::kSplitK};
    }
    ASSAY_HD constexpr int num_slices() const { return cdiv(k, G::kBlockK); }
  };

  UnitWalk walk;
  StreamWalk stream;
  ClusterPlace place;
  int num_slices;
  int worker;  // the block's cluster, of so many
  int workers;
  int rows;   // of A
  Unit only;  // the block's, when it does not stay for more

  /// For the block at `in_cluster` of cluster `cluster`, one of `clusters`.
  ASSAY_HD constexpr DenseTiles(const Problem& problem, const ClusterPlace& in_cluster, int cluster,
                                int clusters)
      : walk(problem.walk()),
        stream{},
        place(in_cluster),
        num_slices(problem.num_slices()),
        worker(cluster),
        workers(clusters),
        rows(problem.m),
        only(G::kPersistent ? Unit{} : walk.at(cluster)) {
    if constexpr (G::kStream) stream = {walk.count(), num_slices, workers};
  }

  ASSAY_HD constexpr int count() const {
    if constexpr (!G::kPersistent) return 1;
    if constexpr (G::kStream) return stream.whole_rounds() + stream.num_pieces(worker);
    return cdiv(walk.count() - worker, workers);
  }
  ASSAY_HD constexpr Work at(int index) const {
    if (G::kStream && index >= stream.whole_rounds()) {
      const Piece piece = stream.piece(worker, index - stream.whole_rounds());
      return {stream.first_cut() + piece.tile, piece.slices, piece.partial};
    }
    const int unit = worker + index * workers;
    const int split = G::kPersistent ? walk.split(unit) : only.split;
    return {unit, slices_of(split * G::kClusterK + place.k, G::kSplitK * G::kClusterK, num_slices),
            G::kSplitK > 1 ? unit : -1,
            G::kStaggered ? only.tile.n * num_slices / walk.tiles_n : 0};
  }
  /// Takes a hundred cycles or, along a Hilbert curve, a thousand.
  ASSAY_HD constexpr Corner corner(const Work& work) const {
    return corner_of(G::kPersistent ? walk.at(work.unit).tile : only.tile, place);
  }
  ASSAY_HD constexpr int end_m(const Work&) const { return rows; }

  /// Where the block at `place` of the cluster has its part of the cluster's tile.
  static ASSAY_HD constexpr Corner corner_of(const Tile& tile, const ClusterPlace& place) {
    return {(tile.m * G::kClusterM + place.m) * G::kBlockM,
            (tile.n * G::kClusterN + place.n) * G::kBlockN};
  }
};
