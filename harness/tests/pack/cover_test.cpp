#include "pack/cover.h"

#include <limits>

#include "matchers.h"

namespace assay {
namespace {

constexpr double kMissing = std::numeric_limits<double>::infinity();

/// Problems M=1, M=2, M=8 and M=16. The first configuration is best for the small ones, the second
/// for the large ones, the third is never far off.
CrossTimes four_problems() {
  CrossTimes times;
  for (const std::int64_t m : {1, 2, 8, 16}) times.problems.push_back({{"M", m}});
  times.time_ns = {{100, 100, 150, kMissing}, {200, 150, 100, 100}, {110, 110, 110, 110}};
  times.library_ns = {kMissing, kMissing, kMissing, kMissing};
  times.first_ns = times.library_ns;
  return times;
}

TEST(Cover, TakesTheFewestConfigurations) {
  const CrossTimes times = four_problems();
  EXPECT_THAT(cover(times, 0.03, 12), UnorderedElementsAre(0, 1));
  EXPECT_THAT(cover(times, 0.10, 12), ElementsAre(2));
  EXPECT_THAT(cover(times, 0.03, 1), ElementsAre(2));  // the slowest loses least
  EXPECT_THAT(cover({}, 0.03, 12), IsEmpty());
  EXPECT_THAT(fastest_of(times, {1, 2}), ElementsAre(2, 2, 1, 1));
}

// The first configuration serves the most problems, and is in neither of the two that serve all.
TEST(Cover, BeginsWithTheProblemsThatFewServe) {
  CrossTimes times;
  for (std::int64_t m = 1; m <= 6; ++m) times.problems.push_back({{"M", m}});
  times.time_ns = {{200, 100, 100, 100, 100, 200},
                   {100, 100, 100, 200, 200, 200},
                   {200, 200, 200, 100, 100, 100}};
  times.library_ns = times.first_ns = std::vector<double>(6, kMissing);
  EXPECT_THAT(cover(times, 0.03, 2), UnorderedElementsAre(1, 2));
}

// The first configuration serves the most problems, and with it there are three.
TEST(Cover, LooksForTheFewestToTheEnd) {
  CrossTimes times;
  for (std::int64_t m = 1; m <= 5; ++m) times.problems.push_back({{"M", m}});
  times.time_ns = {{100, 100, 100, 200, 200},
                   {100, 200, 200, 100, 200},
                   {200, 100, 100, 200, 100},
                   {200, 200, 200, 100, 200},
                   {200, 200, 200, 200, 100}};
  times.library_ns = times.first_ns = std::vector<double>(5, kMissing);
  EXPECT_THAT(cover(times, 0.03, 12), UnorderedElementsAre(1, 2));
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

CrossTimes times_beside_a_library() {
  CrossTimes times = four_problems();
  times.time_ns = {{100, 100, 104, 150}, {200, 124, 100, 100}};
  times.library_ns = {140, 140, 140, 104};
  times.first_ns = {150, 150, 150, 105};
  return times;
}

TEST(FastFor, IsTheNextSmallerProblemIfTheLibraryWasClearlySlower) {
  CrossTimes times = times_beside_a_library();
  EXPECT_THAT(fast_for(times, {0, 0, 1, 1}),
              ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  // For the problem of the row itself. No slower than the best algorithm is enough beside a slower
  // first choice.
  times.library_ns[3] = 100;
  EXPECT_THAT(fast_for(times, {0, 0, 1, 1})[3], ElementsAre(2));
  times.library_ns[3] = 99;
  EXPECT_THAT(fast_for(times, {0, 0, 1, 1})[3], IsEmpty());
  times.first_ns[0] = 101;
  EXPECT_THAT(fast_for(times, {0, 0, 1, 1})[1], IsEmpty());
  times.time_ns[1][1] = 126;  // far from what M=8 takes
  EXPECT_THAT(fast_for(times, {0, 0, 1, 1})[2], IsEmpty());
  times.time_ns[1][1] = 100;
  EXPECT_THAT(fast_for(times, {0, 0, 1, 1})[2], ElementsAre(1));
  times.library_ns.assign(4, kMissing);
  times.first_ns.assign(4, kMissing);
  EXPECT_THAT(fast_for(times, {0, 0, 1, 1})[2], IsEmpty());
}

// A configuration that was 0.91 times as fast as cuBLASLt for M=11,N=1424 had been faster for
// M=9,N=1024 and for M=16,N=2048: N had another number of tiles.
TEST(FastFor, LeavesOutProblemsThatDifferInTwoSizes) {
  CrossTimes times = times_beside_a_library();
  times.problems[1] = {{"M", std::int64_t{2}}, {"N", std::int64_t{8}}};
  times.problems[0] = {{"M", std::int64_t{1}}, {"N", std::int64_t{4}}};
  times.problems.resize(2);
  for (auto* all : {&times.time_ns[0], &times.time_ns[1], &times.library_ns, &times.first_ns}) {
    all->resize(2);
  }
  EXPECT_THAT(fast_for(times, {0, 0})[1], IsEmpty());
  times.problems[0][1].second = std::int64_t{8};
  EXPECT_THAT(fast_for(times, {0, 0})[1], ElementsAre(0));
}

// The regret of a problem is of what is chosen without it.
TEST(LeaveEachOut, TakesTheKernelOfTheProblemAboveWhereItIsFasterForThatBelow) {
  CrossTimes times = times_beside_a_library();
  const std::vector<LeftOut> left = leave_each_out(times, 0.03, 12);
  ASSERT_EQ(left.size(), 4u);
  EXPECT_TRUE(left[0].library);  // no problem is below
  EXPECT_DOUBLE_EQ(left[0].regret, 1.5);
  EXPECT_DOUBLE_EQ(left[0].speedup, 1);
  EXPECT_TRUE(left[1].library);  // what M=8 has takes 200 of 140 for M=1
  EXPECT_DOUBLE_EQ(left[1].regret, 1.5);
  EXPECT_DOUBLE_EQ(left[1].speedup, 1);
  EXPECT_FALSE(left[2].library);  // what M=16 has takes 124 of 140 for M=2
  EXPECT_DOUBLE_EQ(left[2].regret, 1);
  EXPECT_DOUBLE_EQ(left[2].speedup, 1.5);
  times.first_ns[3] = 99;
  EXPECT_TRUE(leave_each_out(times, 0.03, 12)[2].library);
  times.library_ns.assign(4, kMissing);
  times.first_ns.assign(4, kMissing);
  EXPECT_DOUBLE_EQ(leave_each_out(times, 0.03, 12)[0].regret, 1);
}

}  // namespace
}  // namespace assay
