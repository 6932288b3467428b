#include "common/experts/tiles.cuh"

#include <gtest/gtest.h>

#include <map>
#include <tuple>
#include <vector>

#include "kernels/test_tunables.h"

namespace {

struct Swapped : TestTunables {
  static constexpr bool kSwap = true;
  static constexpr int kBlockM = 16;
};
struct Columns : Swapped {
  static constexpr Schedule kSchedule = Schedule::column;
};
struct AlongK : Swapped {
  static constexpr int kClusterK = 4;
};
struct Persistent : TestTunables {
  static constexpr bool kPersistent = true;
  static constexpr Schedule kSchedule = Schedule::grouped;
  static constexpr int kGroupM = 2;
};
struct Clusters : Persistent {
  static constexpr int kClusterM = 2, kClusterN = 2;
};
struct Even : Persistent {  // 40 to 64 rows
  static constexpr bool kSwap = true;
  static constexpr int kBlockM = 64;
  static constexpr int kHeights = 4;
};
struct EvenClusters : Even {
  static constexpr int kClusterM = 2, kClusterN = 1;
};

struct Split : Swapped {
  static constexpr int kSplitK = 3;
};
struct Atomic : Split {
  static constexpr bool kAtomic = true;
  static constexpr bool kPersistent = true;
};

template <typename Config>
class ExpertTilesTest : public testing::Test {};
using Sources = testing::Types<TestTunables, Swapped, Columns, AlongK, Persistent, Clusters, Even,
                               EvenClusters, Split, Atomic>;
TYPED_TEST_SUITE(ExpertTilesTest, Sources);

/// What the kernel has in shared memory.
template <typename G>
struct Table {
  std::vector<int> rows = {0}, tiles = {0};

  explicit Table(const std::vector<int>& tokens_of_experts) {
    for (const int tokens : tokens_of_experts) {
      rows.push_back(rows.back() + tokens);
      tiles.push_back(tiles.back() + ExpertTable::tiles_of<G>(tokens));
    }
  }
  typename ExpertTiles<G>::Problem problem(int n, int k) const {
    return {{rows.data(), tiles.data(), static_cast<int>(rows.size()) - 1}, n, k};
  }
};

const std::vector<std::vector<int>> kRoutings = {
    {1}, {0, 0, 5}, {300, 0, 0}, {0, 16, 1, 0, 0, 17, 129, 128, 0, 40, 0}, std::vector<int>(256, 3),
};

// Each output is made by one block, of all slices, by the matrix of the expert whose row it is; and
// no block may write a row of the next expert.
TYPED_TEST(ExpertTilesTest, MakeEveryOutputOfEveryExpertOnce) {
  using G = Geometry<TypeParam>;
  const int n = 200, k = 456;
  for (const std::vector<int>& routing : kRoutings) {
    const Table<G> table(routing);
    const auto problem = table.problem(n, k);
    const int units = ExpertTiles<G>(problem, {}, 0, 1).num_units();
    for (const int workers : {1, 7, units + 3}) {
      if (!G::kPersistent && workers < units) continue;
      std::map<std::tuple<int, int, int>, int> made;  // of (row, corner.n, slice)
      std::map<int, int> parts;                       // that are stored, or added, to each place
      for (int worker = 0; worker < workers; ++worker) {
        for (int rank = 0; rank < G::kCluster; ++rank) {
          const ExpertTiles<G> tiles(problem, cluster_place(rank, G::kClusterM, G::kClusterN),
                                     worker, workers);
          for (int index = 0; index < tiles.count(); ++index) {
            const Work work = tiles.at(index);
            const Corner corner = tiles.corner(work);
            const int expert = tiles.expert(work);
            ASSERT_GE(corner.m, table.rows[expert]);
            ASSERT_EQ(tiles.end_m(work), table.rows[expert + 1]);
            if (work.partial >= 0) ++parts[work.partial];
            const int height = tiles.height(work);
            ASSERT_TRUE(height % 8 == 0 && height >= kLowest<G> && height <= G::kBlockM) << height;
            const int end = smaller(corner.m + height, tiles.end_m(work));
            for (int row = corner.m; row < end; ++row) {
              for (int i = 0; i < work.slices.count; ++i) {
                const int slice =
                    G::kStaggered ? work.staggered(i) : work.slices.at(i, index % 2 != 0);
                ++made[{row, corner.n, slice}];
              }
            }
          }
        }
      }
      // What the second launch adds up is in as many places as it looks at, and all of it.
      const int added = G::kAtomic ? G::kSplitK : 1;
      EXPECT_EQ(parts.size(), G::kSplitK > 1 ? units / added : 0);
      for (const auto& [place, count] : parts) {
        ASSERT_TRUE(place < units / added && count == added * G::kLayer) << place;
      }
      for (int row = 0; row < table.rows.back(); ++row) {
        for (int at_n = 0; at_n < n; at_n += G::kBlockN) {
          for (int slice = 0; slice < cdiv(k, G::kBlockK); ++slice) {
            ASSERT_EQ((made[{row, at_n, slice}]), 1)
                << "slice " << slice << " of row " << row << ", column " << at_n;
          }
        }
      }
    }
  }
}

// So many tiles moe_wgmma.yaml makes room for.
TYPED_TEST(ExpertTilesTest, AreNoMoreThanTheContractLaunches) {
  using G = Geometry<TypeParam>;
  for (const std::vector<int>& routing : kRoutings) {
    const Table<G> table(routing);
    const int pairs = table.rows.back(), experts = static_cast<int>(routing.size());
    const int most_hit = smaller(experts, pairs);
    EXPECT_LE(table.tiles.back(), most_hit + (pairs - most_hit) / (G::kBlockM * G::kClusterM));
  }
}

// An expert's tiles are as high as each other, and hold no more than its rows need.
TEST(ExpertTilesHeight, FollowsTheRowsOfAnExpert) {
  using G = Geometry<Even>;
  const Table<G> table({1, 40, 41, 64, 65, 100, 128, 129, 0, 150});
  const auto problem = table.problem(64, 64);
  std::map<int, std::vector<int>> heights;  // of the tiles of each expert
  const ExpertTiles<G> tiles(problem, {}, 0, 1);
  for (int index = 0; index < tiles.count(); ++index) {
    const Work work = tiles.at(index);
    heights[tiles.expert(work)].push_back(tiles.height(work));
  }
  EXPECT_EQ(heights, (std::map<int, std::vector<int>>{{0, {40}},
                                                      {1, {40}},
                                                      {2, {48}},
                                                      {3, {64}},
                                                      {4, {40, 40}},
                                                      {5, {56, 56}},
                                                      {6, {64, 64}},
                                                      {7, {48, 48, 48}},
                                                      {9, {56, 56, 56}}}));
}

// Neighbours share weights with `column`, and tokens with `row`; an expert's tiles stay together.
TEST(ExpertTilesOrder, KeepsAnExpertsTilesTogether) {
  using G = Geometry<Columns>;
  const Table<G> table({40, 0, 20});
  const auto problem = table.problem(128, 64);
  std::vector<std::tuple<int, int, int>> order;  // expert, row, column
  for (int worker = 0;; ++worker) {
    const ExpertTiles<G> tiles(problem, {}, worker, 100);
    if (tiles.count() == 0) break;
    const Corner corner = tiles.corner(tiles.at(0));
    order.emplace_back(tiles.expert(tiles.at(0)), corner.m, corner.n);
  }
  EXPECT_EQ(order, (std::vector<std::tuple<int, int, int>>{{0, 0, 0},
                                                           {0, 16, 0},
                                                           {0, 32, 0},
                                                           {0, 0, 64},
                                                           {0, 16, 64},
                                                           {0, 32, 64},
                                                           {2, 40, 0},
                                                           {2, 56, 0},
                                                           {2, 40, 64},
                                                           {2, 56, 64}}));
}

}  // namespace
