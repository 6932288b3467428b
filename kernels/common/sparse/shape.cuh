#pragma once

// What follows from the tunables of one product of a sparse FFN. Compiled by the host too: tests
// prove that warps, lanes and blocks divide a tile among them.
//
// A tile is kTokens x kColumns outputs. Where a block has fewer than 16 tokens or 8 columns, the
// tensor cores compute more, which nobody stores. Warps divide the tile, and then what is left of
// them divides each slice of the sum's length.

#include "common/swizzle.cuh"
#include "common/types.cuh"

/// `Config` has kTokens, kColumns, kProducts, kSlice (of the sum's length), kStages, kWarps and
/// kCluster, the number of blocks that share the sum's length of a tile.
template <typename Config>
struct TileShape : Config {
  static constexpr int kThreads = Config::kWarps * 32;
  static constexpr int kTileM = cdiv(Config::kTokens, 16) * 16;
  static constexpr int kTileN = larger(Config::kColumns, 8);
  static constexpr int kWarpN = kTileN % 32 == 0 ? 32 : kTileN;
  static constexpr int kWarpsN = kTileN / kWarpN;
  static constexpr int kWarpM = kTileM * kWarpsN <= 32 * Config::kWarps ? smaller(kTileM, 32) : 64;
  static constexpr int kWarpsM = kTileM / kWarpM;
  static constexpr int kTileWarps = kWarpsM * kWarpsN;
  static constexpr int kWarpsK = Config::kWarps / kTileWarps;
  static constexpr int kTilesM = kWarpM / 16;  // mma instructions of a warp
  static constexpr int kTilesN = kWarpN / 8;
  static constexpr int kSteps = Config::kSlice / 16 / kWarpsK;  // of a warp in a slice

  // Sums are shared out four at a time, as a lane holds them for one mma instruction.
  static constexpr int kQuads = kTileWarps * kTilesM * kTilesN * 32;
  static constexpr int kShare = kQuads / Config::kCluster;  // that one block adds up
  // Terms of each: of the blocks of a cluster, or else of the warps.
  static constexpr bool kShared = Config::kCluster > 1;
  static constexpr int kSlots = kShared ? Config::kCluster : kWarpsK;
  static constexpr int kShareBytes = Config::kProducts * kShare * 16;
  static constexpr int kReceivedBytes = kShared ? kSlots * kShareBytes : 0;

  static constexpr int kTokenBytes = Config::kTokens * Config::kSlice * 2;  // of a slice
  static constexpr int kWeightBytes = Config::kProducts * Config::kColumns * Config::kSlice * 2;
  static constexpr int kStageBytes = kTokenBytes + kWeightBytes;
  static constexpr int kRingBytes = Config::kStages * kStageBytes;
  // What the warps have is put where the ring was.
  static constexpr bool kWarpsFirst = !kShared || kWarpsK > 1;
  static constexpr int kWarpBytes = kWarpsFirst ? kWarpsK * Config::kProducts * kQuads * 16 : 0;
  static constexpr int kFrontBytes = larger(kRingBytes, kWarpBytes);

  static_assert(kTileM % kWarpM == 0 && kWarpsK >= 1 && Config::kWarps % kTileWarps == 0,
                "the warps divide a tile");
  static_assert(kSteps >= 1 && (kSteps & (kSteps - 1)) == 0,
                "each warp has a power of two steps of 16 in a slice");
  static_assert(kQuads % Config::kCluster == 0, "the blocks of a cluster share a tile evenly");
  static_assert(Config::kStages >= 2, "one slice is multiplied while others are on their way");
  static_assert(Config::kColumns % 16 == 0 || 16 % Config::kColumns == 0,
                "columns come in pairs of mma instructions");
};

/// Where the warp of a thread stands in a tile and in a slice.
template <typename Shape>
struct WarpShare {
  int tile;  // its number among those that divide the tile
  int part;  // of the slice
  int m;
  int n;

  ASSAY_HD constexpr explicit WarpShare(int thread)
      : tile(thread / 32 % Shape::kTileWarps),
        part(thread / 32 / Shape::kTileWarps),
        m(tile % Shape::kWarpsM * Shape::kWarpM),
        n(tile / Shape::kWarpsM * Shape::kWarpN) {}
};

/// How a slice of weights lies in shared memory: a row for each column of the outputs, or a row for
/// each step of the sum.
enum class Weights { columns_as_rows, sums_as_rows };

/// One thread's share of copying a slice of kRows rows of kChunks times 16 bytes.
template <int kRows, int kChunks, int kThreads>
struct SliceShare {
  static_assert(kThreads % kChunks == 0, "a thread stays in its column");
  static constexpr int kRowStep = kThreads / kChunks;
  static constexpr int kCount = cdiv(kRows, kRowStep);  // chunks of a thread
  static constexpr bool kEven = kRows % kRowStep == 0;  // every thread has as many

  int first_row;
  int chunk;

  ASSAY_HD constexpr explicit SliceShare(int thread)
      : first_row(thread / kChunks), chunk(thread % kChunks) {}

  ASSAY_HD constexpr int row(int i) const { return first_row + i * kRowStep; }
  ASSAY_HD constexpr bool has(int i) const { return kEven || row(i) < kRows; }
  /// Where chunk `i` of this thread goes, in bytes from the slice's start.
  ASSAY_HD constexpr unsigned target(int i) const {
    return static_cast<unsigned>(row(i) * kChunks + swizzled<kChunks>(row(i), chunk)) * 16;
  }
};

/// The addresses that a thread gives ldmatrix, in bytes from the start of a stage, which holds the
/// tokens' slice and then the weights'.
template <typename Shape, Weights kLayout>
struct SliceAddresses {
  static constexpr int kTokenChunks = Shape::kSlice / 8;
  static constexpr int kWeightChunks =
      kLayout == Weights::columns_as_rows ? Shape::kSlice / 8 : Shape::kColumns / 8;

  unsigned token_row, token_chunk;
  unsigned weight_row[Shape::kProducts], weight_chunk[Shape::kProducts];

  ASSAY_HD constexpr SliceAddresses(const WarpShare<Shape>& warp, int lane)
      : token_row(0), token_chunk(0), weight_row(), weight_chunk() {
    const int first_step = warp.part * Shape::kSteps;
    // Rows beyond a short tile are those of the tile once more.
    const int token = (warp.m + lane % 16) % Shape::kTokens;
    token_row = static_cast<unsigned>(token * kTokenChunks) * 16;
    token_chunk =
        static_cast<unsigned>(swizzled<kTokenChunks>(token, first_step * 2 + lane / 16)) * 16;
    for (int product = 0; product < Shape::kProducts; ++product) {
      int row = first_step * 16 + lane % 16;
      int chunk = warp.n / 8 + lane / 16;
      if (kLayout == Weights::columns_as_rows) {
        row = product * Shape::kColumns + (warp.n + lane % 8 + lane / 16 * 8) % Shape::kColumns;
        chunk = first_step * 2 + lane / 8 % 2;
      }
      weight_row[product] = Shape::kTokenBytes + static_cast<unsigned>(row * kWeightChunks) * 16;
      weight_chunk[product] = static_cast<unsigned>(swizzled<kWeightChunks>(row, chunk)) * 16;
    }
  }

  // XOR carries steps and pairs into swizzled offsets, because their bits and those of the first
  // chunk do not overlap; rows 16 apart swizzle alike.

  /// Of 16 tokens and 16 steps of the sum.
  ASSAY_HD constexpr unsigned tokens(int i, int step) const {
    return token_row + static_cast<unsigned>(i * 16 * kTokenChunks) * 16 +
           (token_chunk ^ static_cast<unsigned>(step * 32));
  }
  /// Of 16 columns and 16 steps of the sum.
  ASSAY_HD constexpr unsigned weights(int product, int pair, int step) const {
    const int rows = kLayout == Weights::columns_as_rows ? pair : step;
    const int chunks = kLayout == Weights::columns_as_rows ? step : pair;
    return weight_row[product] + static_cast<unsigned>(rows * 16 * kWeightChunks) * 16 +
           (weight_chunk[product] ^ static_cast<unsigned>(chunks * 32));
  }
};

/// The first of the four sums of quad `quad` within a tile. The others are one column on, and the
/// same two eight rows on.
struct QuadPlace {
  int row;
  int column;
};

template <typename Shape>
ASSAY_HD constexpr QuadPlace place_of_quad(int quad) {
  const int lane = quad % 32, tile = quad / 32;
  const int in_warp = tile % (Shape::kTilesM * Shape::kTilesN);
  const int warp = tile / (Shape::kTilesM * Shape::kTilesN);
  return {warp % Shape::kWarpsM * Shape::kWarpM + in_warp / Shape::kTilesN * 16 + lane / 4,
          warp / Shape::kWarpsM * Shape::kWarpN + in_warp % Shape::kTilesN * 8 + lane % 4 * 2};
}
