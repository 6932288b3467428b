// The index maps of the sparse FFNs, put together: a tile is computed on the CPU as a block of
// threads would, from where each thread copies its chunks to, over what ldmatrix and mma.sync take
// from the addresses they are given, to where each lane's sums belong.
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "common/sparse/shape.cuh"

namespace {

template <int kTokensOf, int kColumnsOf, int kProductsOf, int kSliceOf, int kWarpsOf,
          int kClusterOf, Weights kLayoutOf>
struct Tile {
  static constexpr int kTokens = kTokensOf, kColumns = kColumnsOf, kProducts = kProductsOf;
  static constexpr int kSlice = kSliceOf, kStages = 2, kWarps = kWarpsOf, kCluster = kClusterOf;
  static constexpr Weights kLayout = kLayoutOf;
};

constexpr Weights kUp = Weights::columns_as_rows, kDown = Weights::sums_as_rows;

/// A stage in which each element holds a value.
using Stage = std::vector<double>;

/// Copies the slice `value(row, column)` as the threads of a block would.
template <int kRows, int kColumns, int kThreads, typename Value>
void copy_slice(Stage& stage, int first_byte, const Value& value) {
  std::set<unsigned> targets;
  for (int thread = 0; thread < kThreads; ++thread) {
    using Share = SliceShare<kRows, kColumns / 8, kThreads>;
    const Share share(thread);
    for (int i = 0; i < Share::kCount; ++i) {
      if (!share.has(i)) break;
      EXPECT_TRUE(targets.insert(share.target(i)).second) << "chunk copied twice";
      const std::size_t at = (static_cast<std::size_t>(first_byte) + share.target(i)) / 2;
      for (int e = 0; e < 8; ++e) {
        stage.at(at + static_cast<std::size_t>(e)) = value(share.row(i), share.chunk * 8 + e);
      }
    }
  }
  EXPECT_EQ(targets.size(), static_cast<std::size_t>(kRows * kColumns / 8));
}

/// Four 8x8 matrices as ldmatrix finds them: [matrix][row][column].
using Matrices = double[4][8][8];

template <typename Address>
void load_matrices(Matrices& to, const Stage& stage, const Address& address_of_lane) {
  for (int lane = 0; lane < 32; ++lane) {
    const unsigned address = address_of_lane(lane);
    EXPECT_EQ(address % 16, 0u);
    for (int e = 0; e < 8; ++e) {
      to[lane / 8][lane % 8][e] = stage.at(address / 2 + static_cast<unsigned>(e));
    }
  }
}

template <typename Config>
class SparseProduct : public testing::Test {};

using Tiles = testing::Types<Tile<1, 4, 1, 256, 8, 8, kUp>, Tile<2, 8, 2, 256, 8, 1, kUp>,
                             Tile<16, 16, 1, 128, 4, 4, kUp>, Tile<16, 4, 2, 512, 8, 1, kUp>,
                             Tile<8, 64, 2, 128, 8, 4, kUp>, Tile<64, 32, 1, 64, 8, 8, kUp>,
                             Tile<64, 48, 1, 128, 8, 4, kUp>, Tile<128, 64, 2, 64, 8, 2, kUp>,
                             Tile<128, 128, 1, 64, 8, 1, kUp>, Tile<1, 16, 1, 128, 8, 1, kDown>,
                             Tile<16, 32, 1, 128, 8, 1, kDown>, Tile<4, 64, 1, 64, 4, 2, kDown>,
                             Tile<32, 128, 1, 32, 4, 4, kDown>, Tile<64, 64, 1, 64, 8, 1, kDown>,
                             Tile<128, 128, 1, 32, 8, 2, kDown>>;
TYPED_TEST_SUITE(SparseProduct, Tiles, );

TYPED_TEST(SparseProduct, OfATileIsThatOfItsRows) {
  using Shape = TileShape<TypeParam>;
  constexpr bool kRowsAreColumns = TypeParam::kLayout == Weights::columns_as_rows;
  const auto token = [](int row, int k) { return (row * 7 + k * 3) % 11 - 5; };
  const auto weight = [](int product, int column, int k) {
    return (product * 5 + column * 3 + k * 13) % 17 - 8;
  };
  Stage stage(static_cast<std::size_t>(Shape::kStageBytes / 2), 1e9);
  copy_slice<Shape::kTokens, Shape::kSlice, Shape::kThreads>(stage, 0, token);
  if constexpr (kRowsAreColumns) {
    copy_slice<Shape::kProducts * Shape::kColumns, Shape::kSlice, Shape::kThreads>(
        stage, Shape::kTokenBytes,
        [&](int row, int k) { return weight(row / Shape::kColumns, row % Shape::kColumns, k); });
  } else {
    copy_slice<Shape::kSlice, Shape::kColumns, Shape::kThreads>(
        stage, Shape::kTokenBytes, [&](int k, int column) { return weight(0, column, k); });
  }

  // [product][row][column] of the whole tile, and how many warps have added to each.
  std::vector<double> sums(
      static_cast<std::size_t>(Shape::kProducts * Shape::kTileM * Shape::kTileN));
  std::vector<int> parts(sums.size());
  for (int warp = 0; warp < Shape::kWarps; ++warp) {
    const WarpShare<Shape> share(warp * 32);
    const auto addresses = [&](int lane) {
      return SliceAddresses<Shape, TypeParam::kLayout>(share, lane);
    };
    for (int product = 0; product < Shape::kProducts; ++product) {
      for (int i = 0; i < Shape::kTilesM; ++i) {
        for (int j = 0; j < Shape::kTilesN; ++j) {
          double sum[16][8] = {};
          for (int step = 0; step < Shape::kSteps; ++step) {
            Matrices a, b;
            load_matrices(a, stage, [&](int lane) { return addresses(lane).tokens(i, step); });
            load_matrices(b, stage,
                          [&](int lane) { return addresses(lane).weights(product, j / 2, step); });
            for (int row = 0; row < 16; ++row) {
              for (int column = 0; column < 8; ++column) {
                for (int k = 0; k < 16; ++k) {
                  // Operand A is matrices 0 and 1 above each other, and 2 and 3 to their right.
                  const double left = a[row / 8 + k / 8 * 2][row % 8][k % 8];
                  const auto& pair = b[j % 2 * 2 + k / 8];
                  sum[row][column] +=
                      left * (kRowsAreColumns ? pair[column][k % 8] : pair[k % 8][column]);
                }
              }
            }
          }
          for (int lane = 0; lane < 32; ++lane) {
            const int quad = ((share.tile * Shape::kTilesM + i) * Shape::kTilesN + j) * 32 + lane;
            const QuadPlace place = place_of_quad<Shape>(quad);
            for (int e = 0; e < 4; ++e) {
              const int row = place.row + e / 2 * 8, column = place.column + e % 2;
              const auto at = static_cast<std::size_t>(
                  (product * Shape::kTileM + row) * Shape::kTileN + column);
              sums.at(at) += sum[lane / 4 + e / 2 * 8][lane % 4 * 2 + e % 2];
              ++parts.at(at);
            }
          }
        }
      }
    }
  }

  for (int product = 0; product < Shape::kProducts; ++product) {
    for (int row = 0; row < Shape::kTokens; ++row) {
      for (int column = 0; column < Shape::kColumns; ++column) {
        double expected = 0;
        for (int k = 0; k < Shape::kSlice; ++k) {
          expected += token(row, k) * weight(product, column, k);
        }
        const auto at =
            static_cast<std::size_t>((product * Shape::kTileM + row) * Shape::kTileN + column);
        ASSERT_EQ(sums[at], expected) << "row " << row << ", column " << column;
        ASSERT_EQ(parts[at], Shape::kWarpsK);
      }
    }
  }
}

TYPED_TEST(SparseProduct, QuadsOfATileCoverItOnce) {
  using Shape = TileShape<TypeParam>;
  std::set<std::pair<int, int>> seen;
  for (int quad = 0; quad < Shape::kQuads; ++quad) {
    const QuadPlace place = place_of_quad<Shape>(quad);
    for (int e = 0; e < 4; ++e) {
      EXPECT_TRUE(seen.emplace(place.row + e / 2 * 8, place.column + e % 2).second);
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Shape::kTileM * Shape::kTileN));
}

}  // namespace
