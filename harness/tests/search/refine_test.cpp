#include "search/refine.h"

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "matchers.h"
#include "search/some_points.h"

namespace assay::test {
namespace {

/// Points with so many values per parameter, of which some are valid, and what is known of them.
class RefineTest : public testing::Test {
 protected:
  void fill(const Point& num_values, const std::function<bool(const Point&)>& is_valid) {
    points_ = some_points(num_values, is_valid);
    sizes_.clear();
    for (const int count : num_values) sizes_.emplace_back(count, 0.0);
  }
  void saw(const Point& point, double time_ns, Observation::Is is = Observation::Is::timed) {
    history_.push_back({*points_.find(point), is, time_ns});
  }
  std::vector<Point> next(std::size_t count) const {
    std::set<std::size_t> known;
    for (const Observation& seen : history_) known.insert(seen.index);
    const Hints hints{expected_, winners_, sizes_};
    std::vector<Point> next;
    for (const std::size_t index : refine(points_, history_, hints, known, count)) {
      EXPECT_FALSE(known.contains(index));
      next.emplace_back(points_[index].begin(), points_[index].end());
    }
    return next;
  }

  Points points_{{}};
  std::vector<Observation> history_;
  std::function<double(std::size_t)> expected_ = [](std::size_t) { return 0.5; };
  std::vector<std::size_t> winners_;
  std::vector<std::vector<double>> sizes_;
};

bool all_are_valid(const Point&) { return true; }

TEST_F(RefineTest, WithoutATimeThereIsNothingToRefine) {
  fill({3, 3}, all_are_valid);
  EXPECT_THAT(next(5), IsEmpty());
  saw({0, 0}, 0, Observation::Is::failed);
  saw({0, 1}, 1000, Observation::Is::bound);
  saw({0, 2}, 0, Observation::Is::pending);
  EXPECT_THAT(next(5), IsEmpty());
}

TEST_F(RefineTest, ItProposesEachPointOnceAndNoMoreThanAsked) {
  fill({4, 4, 4, 4}, all_are_valid);
  saw({0, 0, 0, 0}, 1000);
  saw({3, 3, 3, 3}, 1010);
  for (const std::size_t count : {1, 5, 100}) {
    const std::vector<Point> proposed = next(count);
    EXPECT_LE(proposed.size(), count);
    EXPECT_EQ(std::set<Point>(proposed.begin(), proposed.end()).size(), proposed.size());
  }
}

TEST_F(RefineTest, EveryParameterIsChangedBeforeOneIsChangedTwice) {
  fill({4, 4, 4, 4, 4, 4, 4, 4}, all_are_valid);
  saw({0, 0, 0, 0, 0, 0, 0, 0}, 1000);
  for (int turn = 1; turn <= 3; ++turn) {
    std::set<std::size_t> changed;
    for (const Point& point : next(8)) {
      changed.insert(static_cast<std::size_t>(
          std::find_if(point.begin(), point.end(), [](int value) { return value != 0; }) -
          point.begin()));
      saw(point, 1000);  // as fast: a change of no effect
    }
    EXPECT_EQ(changed.size(), 8) << "turn " << turn;
  }
}

TEST_F(RefineTest, TheWinnersValuesComeFirstThenThoseOfWhichMostIsExpected) {
  fill({4}, all_are_valid);
  saw({0}, 1000);
  winners_ = {*points_.find(Point{2})};
  expected_ = [&](std::size_t index) { return points_[index][0] == 3 ? 0.5 : 0.499; };
  EXPECT_THAT(next(3), ElementsAre(Point{2}, Point{3}, Point{1}));
}

// A search of 2048x2048x2048 found six faster points one after another, and at each it changed anew
// what had made the one before a third slower.
TEST_F(RefineTest, WhatMadeAnotherSlowerComesLater) {
  fill({2, 3, 3}, all_are_valid);
  saw({0, 0, 0}, 1000);
  saw({1, 1, 0}, 1200);
  saw({1, 2, 0}, 1560);  // 1 to 2: slower by a third
  saw({0, 1, 0}, 900);
  const std::vector<Point> proposed = next(100);
  const auto at = [&](const Point& point) {
    return std::find(proposed.begin(), proposed.end(), point) - proposed.begin();
  };
  ASSERT_THAT(proposed, Contains(Point{0, 2, 0}));
  EXPECT_GT(at({0, 2, 0}), at({0, 1, 1}));
  EXPECT_GT(at({0, 2, 0}), at({0, 1, 2}));
}

// Products of 2048x2048x2048 are fastest when tiles are visited in groups, and a size of the groups
// is valid with nothing else: no change of one parameter led there, and the winner was 1 % slower.
TEST_F(RefineTest, WhatOneChangeCannotReachTheyReachWithTheOtherThatItNeeds) {
  fill({3, 4, 2}, [](const Point& point) { return (point[0] == 2) == (point[1] > 0); });
  saw({0, 0, 0}, 1000);
  expected_ = [&](std::size_t index) { return points_[index][1] == 3 ? 0.6 : 0.5; };
  const std::vector<Point> proposed = next(100);
  EXPECT_THAT(proposed,
              Contains(Point{2, 3, 0}));  // of the sizes the one of which most is expected
  EXPECT_THAT(proposed, Not(Contains(Point{2, 1, 1})));  // more than the change needs
}

// 256x4096x4096 ended with tiles of 128 x 64, and those of 64 x 128 were faster: 64 x 64 and 128 x
// 128, which are one parameter away, were slow.
TEST_F(RefineTest, WhatHasTheSameProductOfTwoParametersIsTried) {
  fill({3, 3, 2}, all_are_valid);
  sizes_ = {{32, 64, 128}, {32, 64, 128}, {0, 0}};
  saw({2, 1, 0}, 1000);
  for (const Point& near : {Point{0, 1, 0}, Point{1, 1, 0}, Point{2, 0, 0}, Point{2, 2, 0}}) {
    saw(near, 1500);
  }
  EXPECT_THAT(next(2), Contains(Point{1, 2, 0}));
}

// 1024x28672x4096 has two good modes. One was only tried with 168 columns and hilbert's curve, at
// 5 % behind the other, which had long got its 176 columns. With these it wins.
TEST_F(RefineTest, WhatMadeOneFasterIsTriedOnOthers) {
  fill({2, 2, 2, 2, 2}, all_are_valid);
  saw({0, 0, 0, 0, 0}, 1200);
  saw({0, 1, 0, 0, 0}, 1000);  // the second parameter: faster by a fifth
  saw({1, 0, 1, 1, 1}, 1050);
  EXPECT_THAT(next(1), ElementsAre(Point{1, 1, 1, 1, 1}));
  // They may hope in vain, so they are no more than half.
  const std::vector<Point> two = next(2);
  EXPECT_THAT(two, Contains(Point{1, 1, 1, 1, 1}));
}

TEST_F(RefineTest, APointThatWasGivenUpTellsOfWhatIsFasterThanItsBound) {
  fill({2, 2, 2, 2, 2}, all_are_valid);
  saw({0, 0, 0, 0, 0}, 1200, Observation::Is::bound);
  saw({0, 1, 0, 0, 0}, 1000);
  saw({1, 0, 1, 1, 1}, 1050);
  EXPECT_THAT(next(1), ElementsAre(Point{1, 1, 1, 1, 1}));
}

// With another objective than time, the best may cost nothing, or less.
TEST_F(RefineTest, WhatCostsNothingIsRefinedToo) {
  fill({3, 3, 3, 3}, all_are_valid);
  saw({0, 0, 0, 0}, 0);
  saw({0, 1, 0, 0}, 0);
  saw({1, 0, 0, 0}, 10);
  saw({1, 1, 0, 0}, -10);
  const std::vector<Point> proposed = next(100);
  EXPECT_EQ(std::set<Point>(proposed.begin(), proposed.end()).size(), proposed.size());
  EXPECT_THAT(proposed, Contains(Point{1, 1, 0, 1}));
}

// What is near the fastest of the points that were drawn was out of reach.
TEST(Grow, AddsTheValidNeighboursOfTheFastest) {
  Points points({4, 4});
  points.add(std::vector{0, 0});
  points.add(std::vector{3, 3});
  std::set<std::size_t> grown;
  const std::vector<Observation> history = {{1, Observation::Is::timed, 5.0}};
  const auto is_valid = [](std::span<const int> point) { return point[0] != 2; };
  grow(points, history, grown, is_valid);
  EXPECT_EQ(points.size(), 2u + 2u + 3u);
  EXPECT_TRUE(points.find(std::vector{1, 3}));
  EXPECT_TRUE(points.find(std::vector{3, 0}));
  EXPECT_FALSE(points.find(std::vector{2, 3}));
  grow(points, history, grown, is_valid);
  EXPECT_EQ(points.size(), 7u);
}

}  // namespace
}  // namespace assay::test
