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
  times.library_ns = {kMissing, kMissing, kMissing, kMissing};
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

// A program calls the library there.
TEST(Cover, NeedsNothingWhereTheLibraryIsAsFast) {
  CrossTimes times = four_problems();
  times.library_ns = {90, 102, kMissing, 200};
  EXPECT_THAT(cover(times, 0.03, 12), ElementsAre(1));
  EXPECT_EQ(times.fastest_ns(0), 90);
}

// What is wanted may not be there: a problem is as far from its winner as its nearest
// configuration.
TEST(Cover, EndsWhereNothingHelps) {
  CrossTimes times = four_problems();
  times.time_ns = {{100, 100, kMissing, kMissing}};
  EXPECT_THAT(cover(times, 0.03, 12), ElementsAre(0));
}

TEST(Regrets, AreOfTheProblemsAround) {
  const CrossTimes times = four_problems();
  // M=1 and M=2 are each other's nearest, and so are M=8 and M=16.
  EXPECT_THAT(regrets(times, {0, 0, 1, 1}), ElementsAre(1, 1, 1, 1));
  // The configuration of M=8 was not measured for M=16.
  EXPECT_THAT(regrets(times, {1, 0, 0, 2}), ElementsAre(1.5, 1, 0, 1.1));
}

// The regret of a problem is of what is chosen without it.
TEST(LeaveEachOut, TakesWhatTheTwoNearestAgreeOn) {
  CrossTimes times = four_problems();
  times.problems.push_back({{"M", std::int64_t{3}}});
  for (std::vector<double>& of_config : times.time_ns) of_config.push_back(of_config[1]);
  times.library_ns = {120, 120, 105, 105, 120};
  const std::vector<LeftOut> left = leave_each_out(times, 0.03, 12);
  ASSERT_EQ(left.size(), 5u);
  EXPECT_FALSE(left[0].library);  // M=2 and M=3 have one
  EXPECT_DOUBLE_EQ(left[0].regret, 1);
  EXPECT_DOUBLE_EQ(left[0].speedup, 1.2);
  EXPECT_TRUE(left[2].library);  // M=16 and M=3 do not
  EXPECT_DOUBLE_EQ(left[2].regret, 1.05);
  times.library_ns.assign(5, kMissing);
  EXPECT_DOUBLE_EQ(leave_each_out(times, 0.03, 12)[2].regret, 1);
}

}  // namespace
}  // namespace assay
