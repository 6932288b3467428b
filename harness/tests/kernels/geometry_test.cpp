#include "common/wgmma/geometry.cuh"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "kernels/test_tunables.h"

namespace {

struct Cluster2x2 : TestTunables {
  static constexpr int kClusterM = 2, kClusterN = 2;
};
struct Cluster4x1x2 : TestTunables {
  static constexpr int kClusterM = 4, kClusterK = 2;
};
struct Cluster1x2x3 : TestTunables {
  static constexpr int kClusterN = 2, kClusterK = 3;
};

template <typename Config>
class ClusterCopies : public testing::Test {
 public:
  using Shape = Geometry<Config>;

  static ClusterPlace place(int rank) {
    return cluster_place(rank, Shape::kClusterM, Shape::kClusterN);
  }
  /// How many blocks copy each part of a side's rows into block `rank`.
  template <Side kSide>
  static std::vector<int> copies_into(int rank) {
    std::vector<int> parts(static_cast<std::size_t>(sharers_of<Shape>(kSide)));
    for (int from = 0; from < Shape::kCluster; ++from) {
      const CopyShare share = copy_share<Shape, kSide>(place(from));
      if ((share.blocks >> rank & 1) != 0) ++parts.at(static_cast<std::size_t>(share.part));
    }
    return parts;
  }
};

using Clusters = testing::Types<TestTunables, Cluster2x2, Cluster4x1x2, Cluster1x2x3>;
TYPED_TEST_SUITE(ClusterCopies, Clusters);

TYPED_TEST(ClusterCopies, BringEveryPartOfBothOperandsToEveryBlockOnce) {
  using G = typename TestFixture::Shape;
  for (int rank = 0; rank < G::kCluster; ++rank) {
    for (const int count : TestFixture::template copies_into<Side::m>(rank)) EXPECT_EQ(count, 1);
    for (const int count : TestFixture::template copies_into<Side::n>(rank)) EXPECT_EQ(count, 1);
  }
}

TYPED_TEST(ClusterCopies, ComeFromBlocksOfTheSameRowsOfTheTileAndTheSamePartOfK) {
  using G = typename TestFixture::Shape;
  for (int from = 0; from < G::kCluster; ++from) {
    const ClusterPlace source = TestFixture::place(from);
    for (int to = 0; to < G::kCluster; ++to) {
      const ClusterPlace target = TestFixture::place(to);
      const CopyShare a = copy_share<G, Side::m>(source), b = copy_share<G, Side::n>(source);
      EXPECT_EQ(a.blocks >> to & 1, source.m == target.m && source.k == target.k);
      EXPECT_EQ(b.blocks >> to & 1, source.n == target.n && source.k == target.k);
    }
  }
}

// A stage may be filled again when all blocks that read it have let go: each tells those that copy
// into it, once, and the barrier waits for as many.
TYPED_TEST(ClusterCopies, AreAnsweredByOneReleaseToEachBlockTheyComeFrom) {
  using G = typename TestFixture::Shape;
  for (int rank = 0; rank < G::kCluster; ++rank) {
    std::map<int, int> released;
    for (int thread = 0; thread < 128; ++thread) {
      const int target = release_target<G>(TestFixture::place(rank), thread);
      if (target >= 0) ++released[target];
    }
    for (int from = 0; from < G::kCluster; ++from) {
      const CopyShare a = copy_share<G, Side::m>(TestFixture::place(from));
      const CopyShare b = copy_share<G, Side::n>(TestFixture::place(from));
      EXPECT_EQ(released[from], (a.blocks | b.blocks) >> rank & 1) << rank << " from " << from;
    }
    int expected = 0;  // the count that Ring::init gets, for one warpgroup
    for (const auto& [target, count] : released) expected += count;
    EXPECT_EQ(expected, G::kClusterM + G::kClusterN - 1);
  }
}

struct Wide : TestTunables {
  static constexpr int kBlockN = 176;
};
struct Cooperative : TestTunables {
  static constexpr Mode kMode = Mode::cooperative;
  static constexpr int kBlockM = 256, kBlockN = 96;
};
struct SwappedOneWarpgroup : TestTunables {
  static constexpr bool kSwap = true;
  static constexpr int kBlockM = 16, kBlockN = 256;
};
struct SwappedCooperative : TestTunables {
  static constexpr Mode kMode = Mode::cooperative;
  static constexpr bool kSwap = true;
  static constexpr int kBlockM = 32, kBlockN = 256;
};

/// Where wgmma puts things: the row of the tile's N side that the accumulators at `group` of
/// warpgroup `warpgroup` stand for, in the column `n` of the eight or the row `n` of the 64.
template <typename G>
int row_of_n_side(Group group, int warpgroup, int n) {
  if (G::kSwap) return (warpgroup * G::kLongTiles + group.tile) * 64 + n;
  return group.column * 8 + n;
}

template <typename Config>
class PairedProducts : public testing::Test {};
using Pairs =
    testing::Types<TestTunables, Wide, Cooperative, SwappedOneWarpgroup, SwappedCooperative>;
TYPED_TEST_SUITE(PairedProducts, Pairs);

// The two sums of an output must come from the same row of both matrices, and outputs must lie in a
// tile as those of one product would in a tile half as wide.
TYPED_TEST(PairedProducts, OfAnOutputComeFromTheSameRowOfBothMatrices) {
  using G = Geometry<TypeParam, 2>;
  for (int warpgroup = 0; warpgroup < G::kSharers; ++warpgroup) {
    for (int tile = 0; tile < G::kOutputTiles; ++tile) {
      for (int column = 0; column < G::kOutputColumns; ++column) {
        for (int n = 0; n < (G::kSwap ? 64 : 8); ++n) {
          const int output =
              G::kSwap ? (warpgroup * G::kOutputTiles + tile) * 64 + n : column * 8 + n;
          for (const int product : {0, 1}) {
            const Group from = G::accumulators_of({tile, column}, product);
            const auto source = G::source_of(row_of_n_side<G>(from, warpgroup, n));
            ASSERT_EQ(source.product, product) << "tile " << tile << ", column " << column;
            ASSERT_EQ(source.row, output) << "tile " << tile << ", column " << column;
          }
        }
      }
    }
  }
}

TYPED_TEST(PairedProducts, UseEveryAccumulatorOnce) {
  using G = Geometry<TypeParam, 2>;
  std::map<std::pair<int, int>, int> uses;
  for (int tile = 0; tile < G::kOutputTiles; ++tile) {
    for (int column = 0; column < G::kOutputColumns; ++column) {
      for (const int product : {0, 1}) {
        const Group from = G::accumulators_of({tile, column}, product);
        ++uses[{from.tile, from.column}];
      }
    }
  }
  EXPECT_EQ(uses.size(), static_cast<std::size_t>(G::kLongTiles * G::kWide / 8));
  for (const auto& [group, count] : uses) {
    EXPECT_EQ(count, 1) << group.first << ", " << group.second;
    EXPECT_LT(group.first, G::kLongTiles);
    EXPECT_LT(group.second, G::kWide / 8);
  }
}

TYPED_TEST(PairedProducts, AreCopiedInRunsOfWholeSwizzledBlocks) {
  using G = Geometry<TypeParam, 2>;
  EXPECT_EQ(G::kProductRun % 8, 0);
  EXPECT_EQ(G::kBlockN % (2 * G::kProductRun), 0);
  for (int row = 0; row < G::kBlockN; ++row) {
    const auto source = G::source_of(row),
               run = G::source_of(row / G::kProductRun * G::kProductRun);
    EXPECT_EQ(source.product, run.product);
    EXPECT_EQ(source.row, run.row + row % G::kProductRun);
  }
}

TEST(Geometry, OneProductIsItsOwnOutput) {
  using G = Geometry<Wide>;
  for (int column = 0; column < G::kWide / 8; ++column) {
    const Group from = G::accumulators_of({1, column}, 0);
    EXPECT_EQ(std::pair(from.tile, from.column), std::pair(1, column));
  }
  for (int row = 0; row < G::kBlockN; ++row) {
    EXPECT_EQ(G::source_of(row).product, 0);
    EXPECT_EQ(G::source_of(row).row, row);
  }
}

}  // namespace
