
#include <gtest/gtest.h>

#include "search/refine.h"

namespace assay {
namespace {

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
}  // namespace assay
