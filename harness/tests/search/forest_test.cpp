#include "search/forest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/draw.h"

namespace assay {
namespace {

/// 400 rows of three features: two matter, the third is noise. The value is `of` the first two.
template <typename Value>
Forest forest_of(
    Value of, float (*scale)(float) = [](float x) { return x; }) {
  std::vector<float> features, values;
  Random random(3);
  for (int i = 0; i < 400; ++i) {
    const float a = static_cast<float>(below(random, 20)), b = static_cast<float>(i % 2);
    features.insert(features.end(), {scale(a), b, static_cast<float>(below(random, 9))});
    values.push_back(of(a, b));
  }
  return {3, features, values, 7};
}

TEST(Forest, LearnsWhatMattersAndLeavesOutNoise) {
  const auto value = [](float a, float b) { return b > 0 ? a / 20 : 1 - a / 20; };
  const Forest forest = forest_of(value);
  for (float a = 1; a < 19; ++a) {
    for (const float b : {0.0f, 1.0f}) {
      for (const float noise : {0.0f, 8.0f}) {
        const std::vector<float> row = {a, b, noise};
        EXPECT_NEAR(forest.value(row), static_cast<double>(value(a, b)), 0.08) << a << " " << b;
      }
    }
  }
}

TEST(Forest, LooksAtTheOrderOfAFeatureAlone) {
  const auto value = [](float a, float) { return a < 7 ? 0.2f : 1.0f; };
  const Forest plain = forest_of(value);
  const Forest scaled = forest_of(value, [](float x) { return std::exp2(x); });
  for (float a = 0; a < 20; ++a) {
    const std::vector<float> row = {a, 1, 4}, other = {std::exp2(a), 1, 4};
    EXPECT_EQ(plain.value(row), scaled.value(other)) << a;
  }
}

TEST(Forest, SaysTheSameOfWhatItCannotTellApart) {
  const std::vector<float> features(10, 5.0f);  // ten rows of one feature
  const std::vector<float> values = {1, 0, 1, 0, 1, 0, 1, 0, 1, 0};
  const Forest forest(1, features, values, 1);
  for (const float x : {-100.0f, 5.0f, 100.0f}) {
    EXPECT_DOUBLE_EQ(forest.value(std::vector<float>{x}), 0.5);
  }
}

TEST(Forest, IsUnsureWhereItsTreesDisagree) {
  const Forest forest(1, std::vector<float>{1, 2, 3, 8, 9, 10},
                      std::vector<float>{1, 1, 1, 0, 0, 0}, 1);
  const auto deviation = [&](float x) { return forest.guess(std::vector<float>{x}).deviation; };
  EXPECT_LT(deviation(0), 0.1);
  EXPECT_LT(deviation(11), 0.1);
  EXPECT_GT(deviation(5.6f), 0.25);  // between values that differ
}

TEST(Forest, StandsOnOneRow) {
  const Forest forest(2, std::vector<float>{1, 2}, std::vector<float>{0.25f}, 1);
  EXPECT_DOUBLE_EQ(forest.value(std::vector<float>{9, 9}), 0.25);
}

}  // namespace
}  // namespace assay
