#include "common/experts/row_share.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace {

/// How often each row is dealt.
template <Deal kDeal>
std::vector<int> deals(int rows, int blocks) {
  std::vector<int> dealt(static_cast<std::size_t>(rows));
  for (int block = 0; block < blocks; ++block) {
    const RowShare share = row_share<kDeal>(rows, block, blocks);
    for (int i = 0; i < share.count; ++i) {
      ++dealt.at(static_cast<std::size_t>(share.first + i * share.step));
    }
  }
  return dealt;
}

const std::vector<std::vector<int>> kRowsAndBlocks = {
    {1, 1}, {1, 132}, {131, 132}, {132, 132}, {133, 132}, {28672, 132}, {28672, 4224}, {4095, 264}};

TEST(RowShareTest, DealsEachRowOnce) {
  for (const std::vector<int>& each : kRowsAndBlocks) {
    const std::vector<int> once(static_cast<std::size_t>(each[0]), 1);
    EXPECT_EQ(deals<Deal::turns>(each[0], each[1]), once) << each[0] << " to " << each[1];
    EXPECT_EQ(deals<Deal::shares>(each[0], each[1]), once) << each[0] << " to " << each[1];
  }
}

TEST(RowShareTest, GivesNoBlockTwoMoreThanAnother) {
  for (const std::vector<int>& each : kRowsAndBlocks) {
    std::vector<int> counts;
    for (int block = 0; block < each[1]; ++block) {
      counts.push_back(row_share<Deal::turns>(each[0], block, each[1]).count);
      EXPECT_EQ(row_share<Deal::shares>(each[0], block, each[1]).count, counts.back());
    }
    const auto [fewest, most] = std::minmax_element(counts.begin(), counts.end());
    EXPECT_LE(*most - *fewest, 1) << each[0] << " to " << each[1];
  }
}

}  // namespace
