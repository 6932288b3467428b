#include "pack/cover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kMissing = std::numeric_limits<double>::infinity();

/// Problems M=1, M=2, M=8 and M=16. The first configuration is best for the small ones, the second
/// for the large ones, the third is never far off.
CrossTimes four_problems() {
  CrossTimes times;
  for (const std::int64_t m : {1, 2, 8, 16}) times.problems.push_back({{"M", m}});
  times.time_ns = {{100, 100, 150, kMissing}, {200, 150, 100, 100}, {110, 110, 110, 110}};
  times.baseline_ns = {120, 120, 105, 0};
  return times;
}

TEST(Cover, TakesTheFewestConfigurations) {
  const CrossTimes times = four_problems();
  EXPECT_THAT(cover(times, 0.03, 12), ElementsAre(1, 0));
  EXPECT_THAT(cover(times, 0.10, 12), ElementsAre(2));
  EXPECT_THAT(cover(times, 0.03, 1), ElementsAre(1));  // both cover two; it loses less
  EXPECT_THAT(cover({}, 0.03, 12), IsEmpty());
  EXPECT_THAT(fastest_of(times, {1, 2}), ElementsAre(2, 2, 1, 1));
}

// What is wanted may not be there: a problem is as far from its winner as its nearest
// configuration.
TEST(Cover, EndsWhereNothingHelps) {
  CrossTimes times = four_problems();
  times.time_ns = {{100, 100, kMissing, kMissing}};
  EXPECT_THAT(cover(times, 0.03, 12), ElementsAre(0));
}

TEST(Nearness, IsOfTheProblemsAround) {
  const CrossTimes times = four_problems();
  const std::vector<Nearness> near = nearness(times, {0, 0, 1, 1});
  // M=1 and M=2 are each other's nearest, and so are M=8 and M=16; M=4 times as far as M=2 is not.
  EXPECT_EQ(near[0].factor, 2);
  EXPECT_EQ(near[0].regret, 1);
  EXPECT_DOUBLE_EQ(near[0].speedup, 1.2);
  EXPECT_EQ(near[2].speedup, 0);  // there is no baseline for M=16
  EXPECT_DOUBLE_EQ(near[3].speedup, 1.05);
  const std::vector<Nearness> wrong = nearness(times, {1, 0, 0, 1});
  EXPECT_DOUBLE_EQ(wrong[0].regret, 1.5);
  EXPECT_DOUBLE_EQ(wrong[0].speedup, 0.8);
  EXPECT_EQ(wrong[2].factor, 0);  // its configuration was not measured for M=16
}

// The regret of a problem is of what is chosen without it.
TEST(LeaveEachOut, TakesTheNearestWhereItIsSafe) {
  const std::vector<LeftOut> left = leave_each_out(four_problems(), 0.03, 12);
  ASSERT_EQ(left.size(), 4u);
  // Without M=1, M=2 has no problem around but M=8, for which its configuration is slow.
  EXPECT_TRUE(left[0].fallback);
  EXPECT_DOUBLE_EQ(left[0].regret, 1.2);
  EXPECT_DOUBLE_EQ(left[0].speedup, 1);
  EXPECT_FALSE(left[3].fallback);  // there is nothing to fall back to
  EXPECT_DOUBLE_EQ(left[3].regret, 1);
}

}  // namespace
}  // namespace assay
