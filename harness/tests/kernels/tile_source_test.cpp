#include "common/wgmma/tile_source.cuh"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "kernels/test_tunables.h"

namespace {

struct Persistent : TestTunables {
  static constexpr bool kPersistent = true;
  static constexpr Schedule kSchedule = Schedule::hilbert;
};
struct Pingpong : Persistent {
  static constexpr Mode kMode = Mode::pingpong;
  static constexpr int kClusterM = 2;
};
struct Split : TestTunables {
  static constexpr int kSplitK = 3;
};
struct PersistentSplit : Split {
  static constexpr bool kPersistent = true;
};
struct ClusterAlongK : TestTunables {
  static constexpr int kClusterK = 4, kSplitK = 2, kClusterN = 2;
};
struct Swapped : TestTunables {
  static constexpr bool kSwap = true;
  static constexpr int kBlockM = 16, kClusterN = 2;
};
struct Staggered : TestTunables {
  static constexpr bool kSwap = true;
  static constexpr int kBlockM = 16;
};
struct Stream : TestTunables {
  static constexpr bool kPersistent = true, kStream = true;
  static constexpr Schedule kSchedule = Schedule::grouped;
  static constexpr int kGroupM = 4;
};
struct StreamOfClusters : Stream {
  static constexpr int kClusterM = 2;
};

template <typename Config>
class DenseTilesTest : public testing::Test {};
using Sources = testing::Types<TestTunables, Persistent, Pingpong, Split, PersistentSplit,
                               ClusterAlongK, Swapped, Staggered, Stream, StreamOfClusters>;
TYPED_TEST_SUITE(DenseTilesTest, Sources);

/// All that is done, by all blocks: how often each slice of each tile is multiplied, and who makes
/// partial sums.
struct Done {
  std::map<std::tuple<int, int, int>, int> slices;        // of (m, n) of a corner
  std::map<std::pair<int, int>, std::set<int>> partials;  // of (m, n) of a corner
  std::set<std::pair<int, int>> partials_of_blocks;       // (partial, block of the layer)
};

template <typename G>
Done walk(const typename DenseTiles<G>::Problem& problem, int workers) {
  Done done;
  for (int worker = 0; worker < workers; ++worker) {
    for (int rank = 0; rank < G::kCluster; ++rank) {
      const ClusterPlace place = cluster_place(rank, G::kClusterM, G::kClusterN);
      const DenseTiles<G> tiles(problem, place, worker, workers);
      for (int index = 0; index < tiles.count(); ++index) {
        const Work work = tiles.at(index);
        const Corner corner = tiles.corner(work);
        EXPECT_EQ(corner.first_long<G>(), G::kSwap ? corner.n : corner.m);
        EXPECT_EQ(corner.first_wide<G>(), G::kSwap ? corner.m : corner.n);
        EXPECT_EQ(tiles.end_m(work), problem.m);
        for (int i = 0; i < work.slices.count; ++i) {
          const int slice = G::kStaggered ? work.staggered(i) : work.slices.at(i, index % 2 != 0);
          ++done.slices[{corner.m, corner.n, slice}];
        }
        if (work.partial < 0 || place.k > 0) continue;
        EXPECT_TRUE(done.partials_of_blocks.emplace(work.partial, rank).second)
            << "partial sums " << work.partial << " are made twice";
        done.partials[{corner.m, corner.n}].insert(work.partial);
      }
    }
  }
  return done;
}

TYPED_TEST(DenseTilesTest, MultiplyEverySliceOfEveryTileOnce) {
  using G = Geometry<TypeParam>;
  for (const auto& [m, n, k] : {std::tuple(520, 392, 456), {128, 64, 64}, {257, 600, 900}}) {
    const typename DenseTiles<G>::Problem problem = {m, n, k};
    const int units = problem.walk().count();
    for (const int most : {1, 7, 33, units}) {
      const int workers = G::kPersistent ? smaller(most, units) : units;
      const Done done = walk<G>(problem, workers);
      for (int at_m = 0; at_m < m; at_m += G::kBlockM) {
        for (int at_n = 0; at_n < n; at_n += G::kBlockN) {
          for (int slice = 0; slice < cdiv(k, G::kBlockK); ++slice) {
            const auto found = done.slices.find({at_m, at_n, slice});
            ASSERT_TRUE(found != done.slices.end() && found->second == 1)
                << "slice " << slice << " of the tile at " << at_m << ", " << at_n << ", "
                << workers << " workers";
          }
          const auto partials = done.partials.find({at_m, at_n});
          const bool cut = partials != done.partials.end();
          if (G::kStream) continue;
          ASSERT_EQ(cut, G::kSplitK > 1);
          if (cut) {
            ASSERT_EQ(partials->second.size(), static_cast<std::size_t>(G::kSplitK));
          }
        }
      }
    }
  }
}

TEST(Work, StaggeredVisitsEverySliceOnceAndGoesRound) {
  for (int start = 0; start < 4; ++start) {
    const Work work = {0, {5, 4}, -1, start};
    for (int index = 0; index < 4; ++index) {
      EXPECT_EQ(work.staggered(index), 5 + (start + index) % 4);
    }
  }
}

// Blocks of the same weights (here two, for M = 32) begin at the same slice, so that L2 gives each
// line to both at once; the others spread over K.
TEST(DenseTilesStaggered, BeginsEverywhereInKButTogetherForTheSameWeights) {
  using G = Geometry<Staggered>;
  static_assert(G::kStaggered);
  const DenseTiles<G>::Problem problem = {32, 64 * 32, 64 * 16};
  std::map<int, std::set<int>> starts;  // of the row of B
  std::set<int> all;
  const int units = problem.walk().count();
  for (int worker = 0; worker < units; ++worker) {
    const DenseTiles<G> tiles(problem, cluster_place(0, 1, 1), worker, units);
    const Work work = tiles.at(0);
    starts[tiles.corner(work).n].insert(work.start);
    all.insert(work.start);
  }
  EXPECT_EQ(starts.size(), 32u);
  for (const auto& [row, of_row] : starts) EXPECT_EQ(of_row.size(), 1u) << "row " << row;
  EXPECT_EQ(all.size(), 16u);
  EXPECT_EQ(*all.rbegin(), 15);
}

}  // namespace
