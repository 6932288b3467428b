#include "common/schedule.cuh"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace {

class EveryTileOnce : public testing::TestWithParam<std::tuple<Schedule, int>> {};

TEST_P(EveryTileOnce, ForManyShapes) {
  const auto [schedule, group_m] = GetParam();
  for (int tiles_m = 1; tiles_m <= 40; ++tiles_m) {
    for (int tiles_n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100}) {
      std::vector<int> visits(static_cast<std::size_t>(tiles_m * tiles_n));
      for (int index = 0; index < tiles_m * tiles_n; ++index) {
        const Tile tile = tile_at(schedule, index, tiles_m, tiles_n, group_m);
        ASSERT_TRUE(tile.m >= 0 && tile.m < tiles_m && tile.n >= 0 && tile.n < tiles_n)
            << "block " << index << " of " << tiles_m << " x " << tiles_n << " got (" << tile.m
            << ", " << tile.n << ")";
        ++visits[static_cast<std::size_t>(tile.m * tiles_n + tile.n)];
      }
      for (std::size_t at = 0; at < visits.size(); ++at) {
        ASSERT_EQ(visits[at], 1) << "tile " << at << " of " << tiles_m << " x " << tiles_n;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lines, EveryTileOnce,
                         testing::Combine(testing::Values(Schedule::row, Schedule::column),
                                          testing::Values(1)));
INSTANTIATE_TEST_SUITE_P(Grouped, EveryTileOnce,
                         testing::Combine(testing::Values(Schedule::grouped),
                                          testing::Values(1, 2, 3, 4, 5, 8, 16, 64, 1 << 20)));

TEST(Schedule, RowWalksAlongARowAndColumnDownAColumn) {
  EXPECT_EQ(tile_at(Schedule::row, 1, 4, 6, 1).n, 1);
  EXPECT_EQ(tile_at(Schedule::row, 6, 4, 6, 1).m, 1);
  EXPECT_EQ(tile_at(Schedule::column, 1, 4, 6, 1).m, 1);
  EXPECT_EQ(tile_at(Schedule::column, 4, 4, 6, 1).n, 1);
}

TEST(Schedule, GroupedGoesDownAGroupThenRightThenToTheNextGroup) {
  const int tiles_m = 5, tiles_n = 3, group_m = 2;
  const std::vector<std::pair<int, int>> expected = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2},
                                                     {1, 2}, {2, 0}, {3, 0}, {2, 1}, {3, 1},
                                                     {2, 2}, {3, 2}, {4, 0}, {4, 1}, {4, 2}};
  for (std::size_t index = 0; index < expected.size(); ++index) {
    const Tile tile =
        tile_at(Schedule::grouped, static_cast<int>(index), tiles_m, tiles_n, group_m);
    EXPECT_EQ(std::pair(tile.m, tile.n), expected[index]) << "block " << index;
  }
}

/// Follows `hilbert` over a rectangle: every tile once, from (0, 0) on, each next to the one
/// before. The steps to a tile that only shares a corner are counted.
void follow_hilbert(int tiles_m, int tiles_n, int& diagonal_steps) {
  std::set<std::pair<int, int>> visited = {{0, 0}};
  Tile last = tile_at(Schedule::hilbert, 0, tiles_m, tiles_n, 1);
  ASSERT_EQ(std::pair(last.m, last.n), std::pair(0, 0));
  diagonal_steps = 0;
  for (int index = 1; index < tiles_m * tiles_n; ++index) {
    const Tile tile = tile_at(Schedule::hilbert, index, tiles_m, tiles_n, 1);
    ASSERT_TRUE(tile.m >= 0 && tile.m < tiles_m && tile.n >= 0 && tile.n < tiles_n) << index;
    ASSERT_TRUE(visited.emplace(tile.m, tile.n).second) << index;
    const int down = std::abs(tile.m - last.m), right = std::abs(tile.n - last.n);
    ASSERT_LE(larger(down, right), 1) << index;
    if (down + right == 2) ++diagonal_steps;
    last = tile;
  }
}

// On a chessboard a straight step changes the colour and a diagonal one keeps it. From corner to
// corner along an odd side, over an even number of rows, the colours ask for a diagonal one; only
// over two rows the walk ends beside the corner instead.
TEST(Schedule, HilbertGoesFromNeighbourToNeighbourWithOneDiagonalStepForOddByEven) {
  std::vector<std::pair<int, int>> shapes = {{64, 512},  {512, 64}, {33, 157},
                                             {34, 157},  {157, 34}, {255, 256},
                                             {257, 256}, {2, 4001}, {4000, 3}};
  for (int tiles_m = 1; tiles_m <= 40; ++tiles_m) {
    for (int tiles_n = 1; tiles_n <= 40; ++tiles_n) shapes.emplace_back(tiles_m, tiles_n);
  }
  for (const auto& [tiles_m, tiles_n] : shapes) {
    SCOPED_TRACE(testing::Message() << tiles_m << " x " << tiles_n);
    int diagonal_steps = 0;
    ASSERT_NO_FATAL_FAILURE(follow_hilbert(tiles_m, tiles_n, diagonal_steps));
    const int longer = larger(tiles_m, tiles_n), shorter = smaller(tiles_m, tiles_n);
    const bool odd_by_even = longer % 2 == 1 && shorter % 2 == 0 && shorter > 2;
    ASSERT_EQ(diagonal_steps, odd_by_even ? 1 : 0);
  }
}

// 132 tiles, one for each SM of an H200, lie in 23 rows and columns as a square, and in 133 as a
// row.
TEST(Schedule, HilbertTilesThatRunAtTheSameTimeTouchFewRowsAndColumns) {
  for (const auto& [tiles_m, tiles_n] : {std::pair(64, 512), {32, 112}, {33, 157}, {128, 40}}) {
    for (int first = 0; first + 132 <= tiles_m * tiles_n; ++first) {
      std::set<int> rows, columns;
      for (int index = first; index < first + 132; ++index) {
        const Tile tile = tile_at(Schedule::hilbert, index, tiles_m, tiles_n, 1);
        rows.insert(tile.m);
        columns.insert(tile.n);
      }
      ASSERT_LE(rows.size() + columns.size(), 36U)
          << "from " << first << " of " << tiles_m << " x " << tiles_n;
    }
  }
}

// Sizes of pieces are compared as 2 * length and 3 * width, and multiplied with each other.
TEST(Schedule, HilbertOverTwoBillionTilesDoesNotOverflow) {
  for (const auto& [tiles_m, tiles_n] : {std::pair(2, 1 << 29), {1 << 29, 3}, {46340, 46340}}) {
    for (int first : {0, tiles_m * tiles_n / 3, tiles_m * tiles_n - 1000}) {
      for (int index = first; index < first + 999; ++index) {
        const Tile from = tile_at(Schedule::hilbert, index, tiles_m, tiles_n, 1);
        const Tile to = tile_at(Schedule::hilbert, index + 1, tiles_m, tiles_n, 1);
        ASSERT_EQ(std::abs(to.m - from.m) + std::abs(to.n - from.n), 1) << "block " << index;
      }
    }
  }
}

// A large GROUP_M on a wide problem: GROUP_M * tiles_n alone would not fit 32 bits.
TEST(Schedule, GroupHigherThanTheProblemDoesNotOverflow) {
  const Tile last = tile_at(Schedule::grouped, 3 * 1000000 - 1, 3, 1000000, 1 << 20);
  EXPECT_EQ(last.m, 2);
  EXPECT_EQ(last.n, 999999);
}

TEST(SlicesOf, EverySliceBelongsToOneSplitAndSplitsAreEven) {
  for (int num_slices = 0; num_slices <= 70; ++num_slices) {
    for (int num_splits = 1; num_splits <= 40; ++num_splits) {
      int next = 0;
      for (int split = 0; split < num_splits; ++split) {
        const SliceRange range = slices_of(split, num_splits, num_slices);
        ASSERT_EQ(range.first, next) << num_slices << " slices, split " << split;
        ASSERT_GE(range.count, num_slices / num_splits);
        ASSERT_LE(range.count, (num_slices + num_splits - 1) / num_splits);
        next += range.count;
      }
      ASSERT_EQ(next, num_slices);
    }
  }
}

TEST(SplitOf, IsTheSplitWhoseSlicesHoldIt) {
  for (int num_slices = 1; num_slices <= 70; ++num_slices) {
    for (int num_splits = 1; num_splits <= 40; ++num_splits) {
      for (int slice = 0; slice < num_slices; ++slice) {
        const SliceRange range =
            slices_of(split_of(slice, num_splits, num_slices), num_splits, num_slices);
        ASSERT_TRUE(slice >= range.first && slice < range.first + range.count)
            << "slice " << slice << " of " << num_slices << " in " << num_splits;
      }
    }
  }
}

TEST(StreamWalk, WorkersShareTheCutTilesSlicesEvenlyAndMakeSumsOfTheirOwn) {
  for (const int workers : {1, 2, 7, 66, 132}) {
    for (const int num_slices : {1, 2, 3, 64, 100}) {
      for (const int tiles : {1, 5, 66, 131, 132, 133, 200, 263, 265}) {
        const StreamWalk walk = {tiles, num_slices, workers};
        std::vector<int> visits(static_cast<std::size_t>(walk.num_cut() * num_slices));
        std::vector<int> partials(static_cast<std::size_t>(workers * 2));
        for (int worker = 0; worker < workers; ++worker) {
          int slices = 0;
          for (int index = 0; index < walk.num_pieces(worker); ++index) {
            const Piece piece = walk.piece(worker, index);
            ASSERT_GT(piece.slices.count, 0);
            ASSERT_LE(piece.slices.first + piece.slices.count, num_slices);
            ASSERT_EQ(++partials.at(static_cast<std::size_t>(piece.partial)), 1);
            ASSERT_EQ(walk.partial_of(worker, piece.tile), piece.partial);
            slices += piece.slices.count;
            for (int i = 0; i < piece.slices.count; ++i) {
              ++visits.at(
                  static_cast<std::size_t>(piece.tile * num_slices + piece.slices.at(i, false)));
            }
          }
          ASSERT_LE(slices, walk.num_cut() * num_slices / workers + 1);
        }
        for (const int count : visits) ASSERT_EQ(count, 1);
      }
    }
  }
}

TEST(StreamWalk, WhoAddsATileUpMeetsAllItsPiecesInTheirOrder) {
  for (const int workers : {1, 3, 66, 132}) {
    for (const int num_slices : {1, 5, 64}) {
      for (const int tiles : {1, 65, 100, 131, 250}) {
        const StreamWalk walk = {tiles, num_slices, workers};
        for (int tile = 0; tile < walk.num_cut(); ++tile) {
          int next = 0;
          for (int worker = walk.first_worker(tile); worker <= walk.last_worker(tile); ++worker) {
            const int index = walk.partial_of(worker, tile) - worker * 2;
            ASSERT_LT(index, walk.num_pieces(worker));
            const Piece piece = walk.piece(worker, index);
            ASSERT_EQ(piece.tile, tile);
            ASSERT_EQ(piece.slices.first, next);
            next += piece.slices.count;
          }
          ASSERT_EQ(next, num_slices);
        }
      }
    }
  }
}

TEST(SliceRange, BackwardsVisitsTheSameSlicesInReverse) {
  const SliceRange range = {5, 4};
  for (int index = 0; index < range.count; ++index) {
    EXPECT_EQ(range.at(index, false), 5 + index);
    EXPECT_EQ(range.at(index, true), 8 - index);
  }
}

TEST(ClusterPlace, LayersOfKFollowEachOther) {
  const ClusterPlace place = cluster_place(7, 2, 1);
  EXPECT_EQ(place.m, 1);
  EXPECT_EQ(place.n, 0);
  EXPECT_EQ(place.k, 3);
}

TEST(SlotOfSender, OthersOfEveryOwnerTakeSlotsOfTheirOwn) {
  for (int blocks = 2; blocks <= 16; ++blocks) {
    for (int owner = 0; owner < blocks; ++owner) {
      std::vector<int> senders(static_cast<std::size_t>(blocks - 1));
      for (int from = 0; from < blocks; ++from) {
        if (from == owner) continue;
        const int slot = slot_of_sender(from, owner);
        ASSERT_TRUE(slot >= 0 && slot < blocks - 1) << from << " to " << owner << " of " << blocks;
        ++senders[static_cast<std::size_t>(slot)];
      }
      for (const int count : senders) ASSERT_EQ(count, 1);
    }
  }
}

TEST(DivideTile, PiecesCoverTheTileInMultiplesOfSixteen) {
  for (int block_m : {16, 32, 64, 128, 256}) {
    for (int block_n : {16, 32, 64, 128, 256}) {
      for (int warps : {1, 2, 4, 8, 16}) {
        const WarpGrid grid = divide_tile(block_m, block_n, warps);
        if (block_m / 16 * (block_n / 16) < warps) {
          EXPECT_EQ(grid.m, 0) << block_m << " x " << block_n << " over " << warps;
          continue;
        }
        EXPECT_EQ(grid.m * grid.n, warps);
        EXPECT_EQ(block_m % (16 * grid.m), 0);
        EXPECT_EQ(block_n % (16 * grid.n), 0);
      }
    }
  }
}

TEST(DivideTile, PrefersSquarePieces) {
  const WarpGrid wide = divide_tile(128, 256, 8);
  EXPECT_EQ(std::pair(wide.m, wide.n), std::pair(2, 4));
  const WarpGrid tall = divide_tile(256, 128, 8);
  EXPECT_EQ(std::pair(tall.m, tall.n), std::pair(4, 2));
}

}  // namespace
