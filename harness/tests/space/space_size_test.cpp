// Spaces that are counted and drawn without being listed.
#include <signal.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/interrupt.h"
#include "matchers.h"
#include "message_of.h"
#include "space/space.h"
#include "space/test_kernel.h"

namespace assay {
namespace {

/// 10^18 points; valid are those whose digits' sum is below `limit`, which the last digit decides.
Space eighteen_digits(int limit) {
  TestKernel kernel;
  std::string sum = "0";
  for (int i = 0; i < 18; ++i) {
    const std::string name = "P" + std::to_string(i);
    kernel.range(name, 0, 9);
    sum += " + " + name;
  }
  kernel.constraint(sum + " < " + std::to_string(limit));
  return space_of(kernel);
}

// The walk over points that are all removed never ended.
TEST(Space, TooManyStepsAreRefused) {
  const Space space = eighteen_digits(0);
  const std::string message =
      "kernel test_kernel: after 1000000 partial configurations the end of the space is not near; "
      "give the parameters fewer values, such as P0";
  EXPECT_THAT([&] { space.for_each([](const auto&) { return true; }, 1'000'000); },
              ThrowsMessage<UsageError>(HasSubstr(message)));
}

// To refuse 10^18 points took 83 s.
TEST(Space, CountingEndsAtALimit) {
  const Space space = eighteen_digits(2);
  const Space::Size timed = space.size(kMaxSpaceSteps, 0.05);
  EXPECT_FALSE(timed.whole);
  EXPECT_GE(timed.valid, 2u);
  const Space::Size counted = space.size(1000);
  EXPECT_FALSE(counted.whole);
  EXPECT_EQ(counted.steps, 1024u);  // the first step that is looked at after 1000
}

// To list 10^18 points takes a second.
TEST(Space, CountingEndsAtCtrlC) {
  const auto count = [] {
    catch_interrupts();
    ::raise(SIGINT);
    std::exit(message_of<Interrupted>([] { eighteen_digits(0).size(); }) == "interrupted" ? 0 : 1);
  };
  EXPECT_EXIT(count(), testing::ExitedWithCode(0), "");
}

TEST(Space, ACountThatEndsByItselfIsNotCutByItsTime) {
  TestKernel kernel;
  kernel.range("A", 1, 3);
  const Space::Size size = space_of(kernel).size(kMaxSpaceSteps, 0);
  EXPECT_EQ(size.valid, 3u);
  EXPECT_TRUE(size.whole);
}

// A sweep that listed the winner of each of 26 products took minutes to begin: nothing was decided
// until all parameters were bound.
TEST(Space, ListedConfigurationsAreFoundAtOnce) {
  TestKernel kernel;
  std::string first = "0", second = "0";
  for (int i = 0; i < 18; ++i) {
    const std::string name = "P" + std::to_string(i);
    kernel.range(name, 0, 9);
    first += (i == 0 ? " || " : " && ") + name + " == " + std::to_string(i % 10);
    second += (i == 0 ? " || " : " && ") + name + " == " + std::to_string(9 - i % 10);
  }
  kernel.constraint(first + " || " + second);
  const Space::Size size = space_of(kernel).size(1000);
  EXPECT_TRUE(size.whole);
  EXPECT_EQ(size.valid, 2u);
  EXPECT_EQ(size.valid + total_removed(size), size.raw);
}

/// 10^18 points in groups: pairs of equal digits, and one digit that is 3.
TestKernel paired_digits() {
  TestKernel kernel;
  for (int i = 0; i < 18; ++i) kernel.range("P" + std::to_string(i), 0, 9);
  for (int i = 0; i < 16; i += 2) {
    kernel.constraint("P" + std::to_string(i) + " == P" + std::to_string(i + 1));
  }
  kernel.constraint("P17 == 3");
  return kernel;
}

TEST(Space, IsCountedByGroupsOfParameters) {
  const Space::Size size = space_of(paired_digits()).size(10'000);
  EXPECT_TRUE(size.whole);
  EXPECT_EQ(size.raw, 1'000'000'000'000'000'000u);
  EXPECT_EQ(size.valid, 1'000'000'000u);
  EXPECT_EQ(size.removed[0].points, 900'000'000'000'000'000u);
  EXPECT_EQ(size.removed[1].points, 90'000'000'000'000'000u);
  EXPECT_EQ(size.valid + total_removed(size), size.raw);
}

TEST(Space, OfAnySizeIsDrawnWithoutBeingListed) {
  const Space space = space_of(paired_digits());
  const auto points = space.draw(5000, 1);
  ASSERT_EQ(points.size(), 5000u);
  EXPECT_TRUE(std::is_sorted(points.begin(), points.end()));
  std::vector<int> firsts(10);
  for (const std::vector<int>& point : points) {
    EXPECT_TRUE(space.is_valid(point));
    ++firsts[static_cast<std::size_t>(point[0])];
  }
  for (const int first : firsts) EXPECT_NEAR(first, 500, 150);  // seven standard deviations
  EXPECT_EQ(space.draw(5000, 1), points);
  EXPECT_NE(space.draw(5000, 2), points);
}

// All parameters hang together, so there is no short list to draw from.
TEST(Space, OfOneGroupIsDrawnByDescents) {
  const auto points = eighteen_digits(70).draw(1000, 1);
  EXPECT_EQ(points.size(), 1000u);
  for (const std::vector<int>& point : points) {
    EXPECT_LT(std::accumulate(point.begin(), point.end(), 0), 70);
  }
  // Descents find none of these; a walk does, at once. All steps of both take a minute under
  // sanitizers, so time ends them.
  constexpr double kMaxSeconds = 0.4;
  EXPECT_EQ(eighteen_digits(1).draw(1000, 1, kMaxSeconds).size(), 1u);
  EXPECT_EQ(eighteen_digits(0).draw(1000, 1, kMaxSeconds).size(), 0u);
}

}  // namespace
}  // namespace assay
