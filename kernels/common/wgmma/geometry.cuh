#pragma once

// What follows from the tunables of a kernel that multiplies with wgmma. Compiled by the host too:
// the tests check the index maps.
//
// wgmma has a long side, 64 rows to a warpgroup, and a wide side of 8 to 256 columns. Usually M is
// the long side. With SWAP_AB it is N: a product with few rows of A then fills the wide side
// exactly, and its weights the long one. `long` and `wide` below are these two sides.

#include "common/schedule.cuh"

/// How many warpgroups multiply, and how they share the work.
///   single:      one
///   cooperative: two; each takes half the rows of every tile
///   pingpong:    two; each takes every other tile, and stores one while the other multiplies
enum class Mode { single, cooperative, pingpong };

/// How rows of C leave: stored by all lanes, or by the copy engine.
enum class StoreBy { lanes, tma };

/// The two sides of C. Rows of A are on the side of M, rows of B on that of N.
enum class Side { m, n };

/// Where something lies in the accumulators of a warpgroup: which 64 rows of the long side, and
/// which 8 columns of the wide one.
struct Group {
  int tile;
  int column;
};

/// Config holds what a kernel is tuned in, as static constants (gemm_wgmma.cuh has all of them),
/// and `Element`, the operands' type of 16 bits. One output is made of kProductsOfOutput products:
/// 1, or 2 when the rows of B are those of two matrices (halves.cuh).
template <typename Config, int kProductsOfOutput = 1>
struct Geometry : Config {
  using Config::kBlockM, Config::kBlockN, Config::kBlockK, Config::kStages, Config::kMode,
      Config::kSwap, Config::kPersistent, Config::kClusterM, Config::kClusterN, Config::kClusterK,
      Config::kSplitK, Config::kStream, Config::kOverlap, Config::kStoreBy;

  static constexpr int kProducts = kProductsOfOutput;
  static constexpr int kConsumers = kMode == Mode::single ? 1 : 2;  // warpgroups that multiply
  static constexpr int kLong = kSwap ? kBlockN : kBlockM;
  static constexpr int kWide = kSwap ? kBlockM : kBlockN;
  static constexpr int kSharers = kMode == Mode::pingpong ? 1 : kConsumers;  // on one tile
  static constexpr int kLongTiles = kLong / 64 / kSharers;  // wgmma down the rows of a warpgroup
  static constexpr int kTileSize = kBlockM * kBlockN;
  static constexpr int kLayer = kClusterM * kClusterN;  // blocks that share copies
  static constexpr int kCluster = kLayer * kClusterK;

  static constexpr int kPanelColumns = 64;  // of K: 128 bytes, the widest swizzle
  static constexpr int kPanels = kBlockK / kPanelColumns;
  static constexpr int kStageBytes = kPanels * (kBlockM + kBlockN) * 128;
  static constexpr int kRingBytes = kStages * kStageBytes;

  /// Whether C is rounded in shared memory, in rows: not when others add to the sums first, and
  /// not transposed.
  static constexpr bool kStaged = !kSwap && kSplitK == 1 && kClusterK == 1;
  // One panel is filled while one is read; but with pingpong nobody waits for the store unless it
  // takes longer than a tile (Staging below), and the ring has better use for the space.
  static constexpr int kStagingPanels = kMode == Mode::pingpong ? 1 : 2;
  static constexpr int kStagingBytes = kStagingPanels * 16 * 128;  // of a warp

  // Slices at a tile's end that are multiplied for one 64 rows after the other. With pingpong there
  // is no need: the other warpgroup keeps the tensor cores busy.
  static constexpr int kTail = kOverlap ? 2 : 0;

  // Blocks that share weights with no other cluster begin their way through K at different places,
  // or all would ask for the same columns of different rows at the same time. In a cluster that
  // does not help.
  static constexpr bool kStaggered = kSwap && kCluster == 1 && kSplitK == 1 && !kPersistent;

  // One warp of producers would do, but only whole warpgroups can give registers away.
  static constexpr int kProducerThreads = kConsumers > 1 ? 128 : 32;
  static constexpr int kConsumerThreads = kConsumers * 128;
  static constexpr int kThreads = kConsumerThreads + kProducerThreads;
  // 64 Ki registers in steps of 8 a thread; the producer needs hardly any. 192 sums need what its
  // 24 leave; with fewer it keeps 40, since what shares copies spills a little at 24.
  static constexpr bool kManySums = kLongTiles * kWide > 368;
  static constexpr int kProducerRegisters = kManySums ? 24 : 40;
  static constexpr int kConsumerRegisters = kManySums ? 240 : 232;

  // Outputs lie in the accumulators as sums do, kProducts of them to an output. Those of one output
  // are held by one thread: N's products stand side by side in the tile, half of its columns each,
  // or on the long side, where a thread has the same row of each 64, 64 rows each.
  static constexpr int kLongProducts = kSwap ? kProducts : 1;
  static constexpr int kWideProducts = kSwap ? 1 : kProducts;
  static constexpr int kOutputTiles = kLongTiles / kLongProducts;   // of 64 rows, of a warpgroup
  static constexpr int kOutputColumns = kWide / 8 / kWideProducts;  // groups of 8 columns

  // A cluster along K shares out the outputs, in groups of 8 columns; each block gets the others'
  // sums for its share.
  static constexpr int kShare = cdiv(kOutputTiles * kOutputColumns, kClusterK);
  static constexpr int kReceivedBytes =
      (kClusterK - 1) * kShare * kProducts * kConsumerThreads * 16;

  /// Which accumulators belong to product `product` of the outputs at `output`.
  static ASSAY_HD constexpr Group accumulators_of(Group output, int product) {
    return {output.tile * kLongProducts + (kSwap ? product : 0),
            output.column + (kSwap ? 0 : product * kOutputColumns)};
  }

  /// Rows of a tile's N side that come from one matrix before as many of the next follow.
  static constexpr int kProductRun = kProducts == 1 ? kBlockN : (kSwap ? 64 : kBlockN / kProducts);

  /// Where row `row` of a tile's N side comes from: which product's matrix, and which of the rows
  /// that the tile has of each.
  struct Source {
    int product;
    int row;
  };
  static ASSAY_HD constexpr Source source_of(int row) {
    return {row / kProductRun % kProducts,
            row / (kProductRun * kProducts) * kProductRun + row % kProductRun};
  }

  static_assert(kBlockK % kPanelColumns == 0, "slices are made of panels of 64 columns");
  static_assert(kLong % (64 * kSharers) == 0 && kLongTiles > 0,
                "a warpgroup multiplies 64 rows of the long side at once");
  static_assert(kLong <= 256 && kWide <= 256, "a box of the copy engine has at most 256 rows");
  static_assert(kLongTiles * kWide <= 384, "more than 192 sums a thread leave no registers");
  static_assert(kBlockM % (8 * kClusterN) == 0 && kProductRun % (8 * kClusterM) == 0,
                "blocks share out a copy in pieces of 8 rows, the period of the swizzle");
  static_assert(kLongTiles % kLongProducts == 0 && kWide / 8 % kWideProducts == 0,
                "all products of an output are made by one warpgroup");
  static_assert(kLongProducts == 1 || !kOverlap,
                "rows that are stored one 64 after the other make outputs of their own");
  static_assert(kMode != Mode::pingpong || kClusterK == 1,
                "blocks that add up their sums work on one tile together");
  static_assert(kClusterK == 1 || !kPersistent, "the sums of a cluster are added up once");
  static_assert(kStages >= 2, "one slice is read while the next arrives");
  static_assert(!kStream || (kPersistent && kSplitK == 1 && !kSwap),
                "streaming shares out the last tiles of blocks that stay");
  static_assert(!kOverlap ||
                    (kLongTiles == 2 && kMode != Mode::pingpong && kClusterK == 1 && kStages > 2),
                "to store 64 rows while others are multiplied takes two times 64, and a stage "
                "beside the two last slices");
  static_assert(kStaged || kStoreBy == StoreBy::lanes,
                "the copy engine takes C from shared memory");
};

/// The part of an operand's rows that a block copies, and the blocks that get it, as bits.
struct CopyShare {
  int part;  // of as many as there are blocks
  unsigned short blocks;
};

/// Blocks of a layer that need the same rows of a side copy a part each, to all of them.
template <typename G, Side kSide>
ASSAY_HD constexpr CopyShare copy_share(const ClusterPlace& place) {
  if constexpr (kSide == Side::m) {
    return {place.n,
            static_cast<unsigned short>(((1u << G::kClusterN) - 1)
                                        << (place.k * G::kLayer + place.m * G::kClusterN))};
  } else {
    constexpr unsigned kColumn = [] {  // of the cluster, its first
      unsigned blocks = 0;
      for (int m = 0; m < G::kClusterM; ++m) blocks |= 1u << (m * G::kClusterN);
      return blocks;
    }();
    return {place.m, static_cast<unsigned short>(kColumn << (place.k * G::kLayer + place.n))};
  }
}

/// Blocks that need the same rows of a side.
template <typename G>
ASSAY_HD constexpr int sharers_of(Side side) {
  return side == Side::m ? G::kClusterN : G::kClusterM;
}

/// Which block's barrier thread `thread` of a warpgroup arrives at when it lets go of a stage:
/// those that copy into this block lie in its row or its column of the cluster. -1 for most
/// threads.
template <typename G>
ASSAY_HD constexpr int release_target(const ClusterPlace& place, int thread) {
  if (thread >= G::kLayer) return -1;
  const bool shares = thread / G::kClusterN == place.m || thread % G::kClusterN == place.n;
  return shares ? place.k * G::kLayer + thread : -1;
}

/// A geometry with room for so many panels of C a warp, 16 rows x 64 columns each.
template <typename Base, int kPanelsOfWarp>
struct Staging : Base {
  static constexpr int kStagingPanels = kPanelsOfWarp;
  static constexpr int kStagingBytes = kPanelsOfWarp * 16 * 128;
};
