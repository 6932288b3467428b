// Where gathered rows lie in a stage, and where wgmma looks for them: the addresses of the PTX
// manual's canonical layouts with a swizzle of 128 bytes.
#include "common/sparse/panels.cuh"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/test_tunables.h"

namespace {

template <int kColumns, int kSlice>
struct Gathering : TestTunables {
  static constexpr int kBlockN = kColumns, kBlockK = kSlice;
};

using Cell = std::pair<int, int>;  // a row and a column of the slice

/// What each element of a slice's panels holds.
template <typename Shape>
std::vector<Cell> filled() {
  std::vector<Cell> cells(static_cast<std::size_t>(Shape::kPanels * Shape::kPanelBytes / 2),
                          Cell(-1, -1));
  for (int thread = 0; thread < kGatherThreads; ++thread) {
    const typename Shape::Share share(thread);
    for (int panel = 0; panel < Shape::kPanels; ++panel) {
      for (int i = 0; i < Shape::Share::kCount && share.has(i); ++i) {
        const auto to = (static_cast<unsigned>(panel * Shape::kPanelBytes) + share.target(i)) / 2;
        for (int e = 0; e < 8; ++e) {
          Cell& cell = cells.at(to + static_cast<unsigned>(e));
          EXPECT_EQ(cell, Cell(-1, -1)) << "copied twice";
          cell = {share.row(i), panel * 64 + share.chunk * 8 + e};
        }
      }
    }
  }
  return cells;
}

/// The swizzle flips bits 4 to 6 of an address by bits 7 to 9.
std::size_t swizzled_element(int bytes) {
  return static_cast<std::size_t>(bytes ^ ((bytes >> 7 & 7) << 4)) / 2;
}

template <typename Config>
class SparsePanels : public testing::Test {};
using Slices =
    testing::Types<Gathering<64, 64>, Gathering<128, 64>, Gathering<64, 128>, Gathering<128, 128>>;
TYPED_TEST_SUITE(SparsePanels, Slices, );

TYPED_TEST(SparsePanels, HoldColumnsOfTheTileAsWgmmaReadsThemTransposed) {
  using G = Geometry<TypeParam>;
  using Shape = PanelShape<G, Weights::sums_as_rows>;
  const std::vector<Cell> cells = filled<Shape>();
  for (int k = 0; k < G::kBlockK; ++k) {
    for (int n = 0; n < G::kBlockN; ++n) {
      // Steps of 16 are 2048 bytes apart, blocks of 8 rows 1024, panels of 64 columns kPanelBytes.
      const int bytes = k / 16 * 2048 + k % 16 / 8 * 1024 + k % 8 * 128 +
                        n / 64 * Shape::kPanelBytes + n % 64 * 2;
      ASSERT_EQ(cells.at(swizzled_element(bytes)), Cell(k, n));
    }
  }
}

TYPED_TEST(SparsePanels, HoldRowsOfTheTileAsWgmmaReadsThem) {
  using G = Geometry<TypeParam>;
  using Shape = PanelShape<G, Weights::columns_as_rows>;
  const std::vector<Cell> cells = filled<Shape>();
  for (int n = 0; n < G::kBlockN; ++n) {
    for (int k = 0; k < G::kBlockK; ++k) {
      const int bytes = k / 64 * Shape::kPanelBytes + n / 8 * 1024 + n % 8 * 128 + k % 64 * 2;
      ASSERT_EQ(cells.at(swizzled_element(bytes)), Cell(n, k));
    }
  }
}

// In a cluster the rank of the block came to lie in the stride between panels, and all but the
// first block read the second 64 columns from elsewhere.
TYPED_TEST(SparsePanels, AreFoundInEveryBlockOfACluster) {
  using Shape = PanelShape<Geometry<TypeParam>, Weights::sums_as_rows>;
  constexpr unsigned kShared = 0x2c00;
  for (unsigned rank = 0; rank < 16; ++rank) {
    const unsigned address = Shape::address(rank << 24 | kShared);
    EXPECT_EQ(address & 0xffff, kShared / 16);
    EXPECT_EQ(address >> 16, static_cast<unsigned>(Shape::kPanelBytes) / 16);
  }
}

// A warp keeps its own part of the list, so that no warp waits for another.
TYPED_TEST(SparsePanels, FindTheirRowsInTheListOfTheirWarp) {
  using Share = typename PanelShape<Geometry<TypeParam>, Weights::sums_as_rows>::Share;
  using List = WarpList<Share>;
  std::vector<int> rows(List::kBytes / 4, -1);
  for (int warp = 0; warp < kGatherThreads / 32; ++warp) {
    for (int slice = 0; slice < List::kSlices; ++slice) {
      for (int entry = 0; entry < List::kRows; ++entry) {
        int& row = rows.at(static_cast<std::size_t>(List::place(warp, slice, entry)));
        EXPECT_EQ(row, -1) << "kept twice";
        row = List::row(warp, entry);
      }
    }
  }
  for (int thread = 0; thread < kGatherThreads; ++thread) {
    const Share share(thread);
    for (int i = 0; i < Share::kCount; ++i) {
      const int place = List::place(thread / 32, List::kSlices + 3, List::entry_of(thread % 32, i));
      EXPECT_EQ(rows.at(static_cast<std::size_t>(place)), share.row(i));
    }
  }
}

/// Copies that land as late as the manual allows: when somebody waits for their group.
template <typename List>
struct LateCopies {
  std::vector<int> slots = std::vector<int>(List::kSlices, -1);  // the slice that each has
  std::vector<std::vector<int>> groups = {{}};                   // of slices asked for; last: open
  std::size_t landed = 0;                                        // groups

  void ask(int slice) { groups.back().push_back(slice); }
  void close_group() { groups.emplace_back(); }
  template <int kLeft>
  void wait_until() {
    for (; landed + kLeft + 1 < groups.size(); ++landed) {
      for (const int slice : groups[landed]) slots[slot(slice)] = slice;
    }
  }
  static std::size_t slot(int slice) {
    return static_cast<std::size_t>(List::place(0, slice, 0) / List::kRows);
  }
};

// The first eight parts were asked for in no group, so nobody waited for them. Rows came from
// wherever the words pointed that lay there.
TYPED_TEST(SparsePanels, WaitForEveryPartOfTheList) {
  using List = WarpList<typename PanelShape<Geometry<TypeParam>, Weights::sums_as_rows>::Share>;
  for (int count = 1; count < 3 * List::kSlices; ++count) {
    LateCopies<List> late;
    for (int slice = -List::kSlices; slice < 0; ++slice) List::ask_next(late, slice, count);
    for (int slice = 0; slice < count; ++slice) {
      List::wait(late);
      ASSERT_EQ(late.slots[late.slot(slice)], slice) << count << " slices";
      for (std::size_t group = late.landed; group < late.groups.size(); ++group) {
        for (const int early : late.groups[group]) {  // may land at any time
          ASSERT_NE(late.slot(early), late.slot(slice)) << "written while it is read";
        }
      }
      List::ask_next(late, slice, count);
    }
  }
}

// Not all threads have as many rows.
TEST(SparsePanels, MayHaveAnOddNumberOfBlocks) {
  using Shape = PanelShape<Geometry<Gathering<88, 64>>, Weights::columns_as_rows>;
  for (const Cell& cell : filled<Shape>()) EXPECT_NE(cell, Cell(-1, -1));
}

}  // namespace
