#include "search/refine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "search/some_points.h"

namespace assay::test {
namespace {

/// How far a point is from what the winner was elsewhere.
using Unlike = std::function<double(const Point&)>;

class AdaptTest : public testing::Test {
 protected:
  Point adapt(const Point& winner, const Unlike& unlike) const {
    const auto at = adapted(points_, winner, [&](std::size_t index) {
      return unlike(Point(points_[index].begin(), points_[index].end()));
    });
    return at ? Point(points_[*at].begin(), points_[*at].end()) : Point{};
  }

  Points points_{{}};
};

bool is_any(const Point&) { return true; }

TEST_F(AdaptTest, AWinnerThatIsAlikeStaysWhatItIs) {
  points_ = some_points({4, 4}, is_any);
  EXPECT_EQ(adapt({1, 2}, [](const Point&) { return 0; }), (Point{1, 2}));
  EXPECT_EQ(adapt({1, 2}, [](const Point& p) { return p == Point{1, 2} ? 0 : 1; }), (Point{1, 2}));
}

TEST_F(AdaptTest, AChangeOfOneParameterMakesItAlike) {
  points_ = some_points({4, 4}, is_any);
  const Unlike unlike = [](const Point& p) { return std::abs(p[0] + p[1] - 1); };
  EXPECT_EQ(adapt({1, 2}, unlike), (Point{1, 0}));
}

TEST_F(AdaptTest, AChangeThatGainsLittleIsNotMade) {
  points_ = some_points({3}, is_any);
  EXPECT_EQ(adapt({0}, [](const Point& p) { return p[0] == 2 ? 0.00 : 0.09; }), (Point{0}));
  EXPECT_EQ(adapt({0}, [](const Point& p) { return p[0] == 2 ? 0.00 : 0.11; }), (Point{2}));
}

TEST_F(AdaptTest, OfSeveralAsAlikeTheSmallestStepIsMade) {
  points_ = some_points({5, 5}, is_any);
  const Unlike unlike = [](const Point& p) { return p[0] >= 3 || p[1] >= 2 ? 0 : 1; };
  EXPECT_EQ(adapt({0, 0}, unlike), (Point{0, 2}));
}

// What won for 4096x4096x4096 is not valid for 2048x2048x2048: tiles in groups as high as all of it
// are refused, and so are its large tiles, of which there are too few for blocks that stay. It was
// dropped, and nothing like it was tried.
TEST_F(AdaptTest, AWinnerThatIsNotValidIsChangedUntilItIs) {
  points_ = some_points({3, 3, 3}, [](const Point& p) { return p[0] != 2 && p[1] != 2; });
  const auto steps = [](const Point& p) { return static_cast<double>(2 - p[0] + 2 - p[1]); };
  EXPECT_EQ(adapt({2, 1, 1}, steps), (Point{1, 1, 1}));
  EXPECT_EQ(adapt({2, 2, 1}, steps), (Point{1, 1, 1}));
}

TEST_F(AdaptTest, OneChangeIsPreferredToTwo) {
  points_ = some_points({3, 3}, [](const Point& p) { return p[0] != 2; });
  const Unlike unlike = [](const Point& p) { return p == Point{0, 0} ? 0 : 5; };
  EXPECT_EQ(adapt({2, 1}, unlike), (Point{1, 1}));
}

TEST_F(AdaptTest, NothingIsFoundWhereNothingNearIsValid) {
  points_ = some_points({3, 3, 3}, [](const Point& p) { return p == Point{0, 0, 0}; });
  EXPECT_EQ(adapt({2, 2, 2}, [](const Point&) { return 0; }), Point{});
}

}  // namespace
}  // namespace assay::test
