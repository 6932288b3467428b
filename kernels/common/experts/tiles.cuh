#pragma once

// The tiles of a product in which each row of A is multiplied by the matrix of its expert. Rows lie
// in the order of the experts, so that an expert's are neighbours. Only tiles that exist are
// walked, one expert's after the other's: an expert whom nobody chose has none, and an expert's
// last tile may be cut short. Compiled by the host too: the tests walk it.

#include "common/wgmma/tile_source.cuh"

/// Where the rows and the tiles of each expert begin, and where the last one's end.
struct ExpertTable {
  const int* first_row;   // of num_experts + 1
  const int* first_tile;  // likewise; counts tiles down M, those of a cluster as one
  int num_experts;

  /// How many tiles down M so many rows take.
  template <typename G>
  static ASSAY_HD constexpr int tiles_of(int num_rows) {
    return cdiv(num_rows, G::kBlockM * G::kClusterM);
  }

  /// The expert that has tile `tile`, one of all.
  ASSAY_HD constexpr int expert_of(int tile) const {
    int expert = 0, end = num_experts;
    while (end - expert > 1) {
      const int middle = (expert + end) / 2;
      if (first_tile[middle] <= tile) {
        expert = middle;
      } else {
        end = middle;
      }
    }
    return expert;
  }
};

/// The rows of the lowest of the tiles that a product may have, kHeights heights of them. Each is 8
/// rows lower than the next.
template <typename G>
constexpr int kLowest = G::kBlockM - 8 * (G::kHeights - 1);

/// A tile source (tile_source.cuh). Its corners lie in C: what is to be multiplied for them is
/// expert(work)'s matrix.
template <typename G>
struct ExpertTiles {
  static_assert(!G::kStream, "blocks make equal parts of a sum");
  static_assert(G::kSplitK == 1 || G::kHeights == 1, "parts of sums are all as large");
  static_assert(kLowest<G> > 0, "a tile has rows");

  struct Problem {
    ExpertTable table;
    int n, k;
  };

  /// One of the experts' tiles, those of a cluster as one.
  struct Place {
    int expert;
    Tile tile;  // among the expert's
  };

  ExpertTable table;
  ClusterPlace in_cluster;
  int tiles_n;
  int num_slices;
  int worker;  // the block's cluster, of so many
  int workers;
  Place only;  // the block's, when it does not stay for more

  ASSAY_HD constexpr ExpertTiles(const Problem& problem, const ClusterPlace& place, int cluster,
                                 int clusters)
      : table(problem.table),
        in_cluster(place),
        tiles_n(cdiv(cdiv(problem.n, G::kBlockN), G::kClusterN)),
        num_slices(cdiv(problem.k, G::kBlockK)),
        worker(cluster),
        workers(clusters),
        only{} {
    if (!G::kPersistent && cluster < num_units()) only = find(cluster);
  }

  /// A unit is one of the kSplitK parts of a tile; the parts of a tile follow one another.
  ASSAY_HD constexpr int num_units() const {
    return table.first_tile[table.num_experts] * tiles_n * G::kSplitK;
  }
  ASSAY_HD constexpr Place find(int unit) const {
    const int tile = unit / G::kSplitK;
    const int expert = table.expert_of(tile / tiles_n);
    const int first = table.first_tile[expert];
    return {expert, tile_at(G::kSchedule, tile - first * tiles_n,
                            table.first_tile[expert + 1] - first, tiles_n, G::kGroupM)};
  }
  ASSAY_HD constexpr Place place_of(const Work& work) const {
    return G::kPersistent ? find(work.unit) : only;
  }

  ASSAY_HD constexpr int count() const {
    const int units = num_units();
    if (worker >= units) return 0;
    return G::kPersistent ? cdiv(units - worker, workers) : 1;
  }
  ASSAY_HD constexpr Work at(int index) const {
    const int unit = worker + index * workers;
    const int part = unit % G::kSplitK * G::kClusterK + in_cluster.k;
    const int whole = unit / G::kSplitK;
    return {unit, slices_of(part, G::kSplitK * G::kClusterK, num_slices),
            G::kSplitK == 1 ? -1 : (G::kAtomic ? whole : unit),
            G::kStaggered ? only.tile.n * num_slices / tiles_n : 0};
  }
  ASSAY_HD constexpr Corner corner(const Work& work) const {
    const Place place = place_of(work);
    return {table.first_row[place.expert] +
                (place.tile.m * G::kClusterM + in_cluster.m) * height_of(place.expert),
            (place.tile.n * G::kClusterN + in_cluster.n) * G::kBlockN};
  }
  /// How many rows the work's tile has, those beyond the expert's last included. An expert's tiles
  /// are all as high, as high as they must be to hold its rows, in steps of 8.
  ASSAY_HD constexpr int height(const Work& work) const { return height_of(place_of(work).expert); }
  /// The rows behind are the next expert's.
  ASSAY_HD constexpr int end_m(const Work& work) const {
    return table.first_row[place_of(work).expert + 1];
  }
  ASSAY_HD constexpr int expert(const Work& work) const { return place_of(work).expert; }

 private:
  ASSAY_HD constexpr int height_of(int expert) const {
    if (G::kHeights == 1) return G::kBlockM;
    const int rows = table.first_row[expert + 1] - table.first_row[expert];
    const int tiles = (table.first_tile[expert + 1] - table.first_tile[expert]) * G::kClusterM;
    return larger(kLowest<G>, cdiv(rows, tiles * 8) * 8);
  }
};

#ifdef __CUDACC__

/// Makes an ExpertTable, by one warp, all of it. `starts` has num_experts + 1 numbers; `rows` and
/// `tiles` are as long.
template <typename G>
__device__ __forceinline__ void make_expert_table(const int* starts, int num_experts, int* rows,
                                                  int* tiles) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int each = cdiv(num_experts, 32);
  const int begin = smaller(lane * each, num_experts);
  const int end = smaller(begin + each, num_experts);
  int sum = 0;  // of the lane's experts
  int row = starts[begin];
  for (int expert = begin, from = row; expert < end; ++expert) {
    const int next = starts[expert + 1];
    sum += ExpertTable::tiles_of<G>(next - from);
    from = next;
  }
  int tile = sum;  // then of all before
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const int before = __shfl_up_sync(~0u, tile, distance);
    if (lane >= distance) tile += before;
  }
  tile -= sum;
  for (int expert = begin; expert < end; ++expert) {
    rows[expert] = row;
    tiles[expert] = tile;
    const int next = starts[expert + 1];
    tile += ExpertTable::tiles_of<G>(next - row);
    row = next;
  }
  if (lane == 31) {
    rows[num_experts] = row;
    tiles[num_experts] = tile;
  }
}

#endif
