#pragma once

// Which part of a matrix product a block works on. Compiled by the host too: the tests prove that
// every tile and every step of K is visited exactly once.

#include "common/types.cuh"

/// The order in which consecutive blocks walk the tiles of C. Blocks that run at the same time are
/// neighbours in this order, so it decides which rows of A and B they share in L2.
///   row:     along a row of tiles; shares A
///   column:  along a column of tiles; shares B
///   grouped: down GROUP_M tiles, then one to the right; shares both
///   hilbert: along a Hilbert curve; shares both, whatever the number of blocks that run
enum class Schedule { row, column, grouped, hilbert };

struct Tile {
  int m;
  int n;
};

/// The `index`th tile of a Hilbert curve, generalised to any rectangle. However many consecutive
/// tiles one takes, they form compact blocks, about as high as wide: those that run at the same
/// time share both A and B in L2, and so do those that run shortly after. The curve begins at tile
/// (0, 0) and goes from neighbour to neighbour, but for one diagonal step where the longer side is
/// odd and the shorter one even (and not 2). Takes O(log(tiles_m * tiles_n)) steps.
ASSAY_HD constexpr Tile hilbert_tile(int index, int tiles_m, int tiles_n) {
  // The piece of the rectangle that still holds the tile. Its curve begins at the corner (along,
  // across) and ends at the other end of its length, which lies along M when `down`. Length and
  // width both point away from the corner in direction `sign`: no piece needs them to differ.
  bool down = tiles_m > tiles_n;
  int length = down ? tiles_m : tiles_n;
  int width = down ? tiles_n : tiles_m;
  int along = 0;
  int across = 0;
  int sign = 1;
  while (length > 1 && width > 1) {
    if (2 * length > 3 * width) {  // two pieces, one after the other
      // Even, so that the first curve can end where the second begins; an odd rest comes last.
      const int half = (length / 2 + 1) / 2 * 2;
      if (index < half * width) {
        length = half;
      } else {
        index -= half * width;
        along += sign * half;
        length -= half;
      }
      continue;
    }
    // Three pieces: up the near part of the width over half the length, along the whole length over
    // the far part, and down the near part again. Even as above, but for a width of two.
    const int near = width > 2 ? (width / 2 + 1) / 2 * 2 : 1;
    const int half = length / 2;
    const int first_size = near * half;
    const int middle_size = length * (width - near);
    if (index >= first_size && index < first_size + middle_size) {
      index -= first_size;
      across += sign * near;
      width -= near;
      continue;
    }
    const bool last = index >= first_size;
    if (last) {  // begins at the end of the length, below where the middle piece has ended
      index -= first_size + middle_size;
      along += sign * (length - 1);
      across += sign * (near - 1);
      sign = -sign;
    }
    width = last ? length - half : half;
    length = near;
    const int turned = along;
    along = across;
    across = turned;
    down = !down;
  }
  (width == 1 ? along : across) += sign * index;
  return down ? Tile{along, across} : Tile{across, along};
}

/// The tile of block `index`, 0 <= index < tiles_m * tiles_n. `group_m` only matters to `grouped`.
ASSAY_HD constexpr Tile tile_at(Schedule schedule, int index, int tiles_m, int tiles_n,
                                int group_m) {
  if (tiles_m == 1) return {0, index};  // few rows: a division less before the first copy
  if (schedule == Schedule::row) return {index / tiles_n, index % tiles_n};
  if (schedule == Schedule::column) return {index % tiles_m, index / tiles_m};
  if (schedule == Schedule::hilbert) return hilbert_tile(index, tiles_m, tiles_n);
  // A problem lower than a group makes the group lower, which also keeps the product below in
  // range.
  const int height = smaller(group_m, tiles_m);
  const int group_size = height * tiles_n;
  const int first_m = index / group_size * height;
  const int rows = smaller(height, tiles_m - first_m);  // the last group may be lower
  const int inside = index % group_size;
  return {first_m + inside % rows, inside / rows};
}

/// A run of K slices, each BLOCK_K long (the last one of K may be shorter).
struct SliceRange {
  int first;
  int count;

  /// The `index`th slice of the way through the run, forwards or backwards.
  ASSAY_HD constexpr int at(int index, bool backwards) const {
    return first + (backwards ? count - 1 - index : index);
  }
};

/// The slices of K that split `split` of `num_splits` adds up: runs of nearly equal length in
/// order, some of them empty when there are more splits than slices.
ASSAY_HD constexpr SliceRange slices_of(int split, int num_splits, int num_slices) {
  const int base = num_slices / num_splits;
  const int extra = num_slices % num_splits;
  return {split * base + smaller(split, extra), base + (split < extra ? 1 : 0)};
}

/// The split that slice `slice` belongs to: slices_of the other way round.
ASSAY_HD constexpr int split_of(int slice, int num_splits, int num_slices) {
  const int base = num_slices / num_splits;
  const int extra = num_slices % num_splits;
  const int in_longer = extra * (base + 1);
  return slice < in_longer ? slice / (base + 1) : extra + (slice - in_longer) / base;
}

/// One tile, or one of the splits of its sum over K.
struct Unit {
  Tile tile;
  int split;
};

/// All units of a product in the order in which they are handed out. Worker w of a persistent grid
/// takes units w, w + workers, and so on; with as many workers as units everyone takes one. Units
/// of one split follow each other, so that tiles that run at the same time read the same part of K.
struct UnitWalk {
  Schedule schedule;
  int group_m;
  int tiles_m;
  int tiles_n;
  int splits;

  ASSAY_HD constexpr int count() const { return tiles_m * tiles_n * splits; }
  ASSAY_HD constexpr int split(int index) const {
    return splits == 1 ? 0 : index / (tiles_m * tiles_n);
  }
  ASSAY_HD constexpr Unit at(int index) const {
    if (splits == 1) return {tile_at(schedule, index, tiles_m, tiles_n, group_m), 0};
    const int tiles = tiles_m * tiles_n;
    return {tile_at(schedule, index % tiles, tiles_m, tiles_n, group_m), index / tiles};
  }
};

/// A run of the slices of one of the tiles that are cut, and which of all partial sums it makes.
struct Piece {
  int tile;  // among those that are cut
  SliceRange slices;
  int partial;
};

/// Stream-K: every worker takes the same number of whole tiles, and the tiles that are left, fewer
/// than workers, are cut: their slices, one tile's after the other's, are shared out evenly in
/// runs. A run is no longer than a tile, so it lies in one or two of them. All workers end at once,
/// and who adds what is fixed, so that the sums are too.
struct StreamWalk {
  int tiles;
  int num_slices;  // of a tile
  int workers;

  ASSAY_HD constexpr int whole_rounds() const { return tiles / workers; }
  ASSAY_HD constexpr int first_cut() const { return whole_rounds() * workers; }
  ASSAY_HD constexpr int num_cut() const { return tiles - first_cut(); }
  ASSAY_HD constexpr SliceRange run(int worker) const {
    return slices_of(worker, workers, num_cut() * num_slices);
  }
  /// In how many tiles the worker's run lies: 0, 1 or 2.
  ASSAY_HD constexpr int num_pieces(int worker) const {
    const SliceRange all = run(worker);
    if (all.count == 0) return 0;
    return (all.first + all.count - 1) / num_slices - all.first / num_slices + 1;
  }
  ASSAY_HD constexpr Piece piece(int worker, int index) const {
    const SliceRange all = run(worker);
    const int tile = all.first / num_slices + index;
    const int begin = larger(all.first, tile * num_slices);
    const int end = smaller(all.first + all.count, (tile + 1) * num_slices);
    return {tile, {begin - tile * num_slices, end - begin}, worker * 2 + index};
  }
  /// The workers that have a piece of the tile, first to last, and the piece's partial sums.
  ASSAY_HD constexpr int first_worker(int tile) const {
    return split_of(tile * num_slices, workers, num_cut() * num_slices);
  }
  ASSAY_HD constexpr int last_worker(int tile) const {
    return split_of((tile + 1) * num_slices - 1, workers, num_cut() * num_slices);
  }
  ASSAY_HD constexpr int partial_of(int worker, int tile) const {
    return worker * 2 + (run(worker).first / num_slices == tile ? 0 : 1);
  }
};

/// A block's place in its cluster: clusters are CLUSTER_M x CLUSTER_N neighbouring tiles, in
/// CLUSTER_K layers that share out K.
struct ClusterPlace {
  int m;
  int n;
  int k;
};

ASSAY_HD constexpr ClusterPlace cluster_place(int rank, int cluster_m, int cluster_n) {
  const int layer = cluster_m * cluster_n;
  return {rank % layer / cluster_n, rank % cluster_n, rank / layer};
}

/// Where a block that adds up keeps what block `from` of the others sent it: 0 to blocks - 2.
ASSAY_HD constexpr int slot_of_sender(int from, int owner) {
  return from > owner ? from - 1 : from;
}

/// How warps share a tile.
struct WarpGrid {
  int m;
  int n;
};

/// Divides a tile over `warps` so that they read the least shared memory between them (a warp reads
/// its rows of A and of B; those in a row of the grid read the same A). {0, 0} when it cannot be
/// done in pieces whose sides are multiples of 16.
ASSAY_HD constexpr WarpGrid divide_tile(int block_m, int block_n, int warps) {
  WarpGrid best{0, 0};
  int best_rows = 0;
  for (int m = 1; m <= warps; m *= 2) {
    const int n = warps / m;
    if (m * n != warps || block_m % (16 * m) != 0 || block_n % (16 * n) != 0) continue;
    const int rows = n * block_m + m * block_n;
    if (best.m == 0 || rows < best_rows) {
      best = {m, n};
      best_rows = rows;
    }
  }
  return best;
}
