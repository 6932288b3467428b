
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ranking/comparison.h"

namespace assay {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Le;

TEST(TTail, AgreesWithTables) {
  EXPECT_NEAR(t_tail(12.706, 1), 0.025, 1e-6);
  EXPECT_NEAR(t_tail(2.776445, 4), 0.025, 1e-7);
  EXPECT_NEAR(t_tail(2.228139, 10), 0.025, 1e-7);
  // With two degrees of freedom there is a formula.
  for (const double t : {0.1, 3.0, 100.0, 1e4}) {
    const double root = std::sqrt(2 + t * t);
    EXPECT_NEAR(t_tail(t, 2) * root * (root + t), 1, 1e-9) << t;
  }
  EXPECT_NEAR(t_tail(1.959964, HUGE_VAL), 0.025, 1e-8);
}

TEST(TTail, IsAHalfAtZeroAndAddsUpToOne) {
  for (const double dof : {0.5, 1.0, 7.3, 99.0, 2e4, 1e9}) {
    EXPECT_DOUBLE_EQ(t_tail(0, dof), 0.5);
    double last = 1;
    for (double t = -40; t <= 40; t += 0.5) {
      const double tail = t_tail(t, dof);
      EXPECT_LE(tail, last) << t << ' ' << dof;
      EXPECT_NEAR(tail + t_tail(-t, dof), 1, 1e-12) << t << ' ' << dof;
      last = tail;
    }
    EXPECT_EQ(t_tail(HUGE_VAL, dof), 0);
    EXPECT_EQ(t_tail(-HUGE_VAL, dof), 1);
  }
}

TEST(TTail, ReachesTheNormalDistributionWithoutAJump) {
  EXPECT_NEAR(t_tail(4.5, 99'999), t_tail(4.5, 100'001), 1e-2 * t_tail(4.5, 1e9));
}

TEST(TOf95Percent, IsTheInverse) {
  for (const double dof : {1.0, 5.0, 15.0, 300.0, HUGE_VAL}) {
    EXPECT_NEAR(t_tail(t_of_95_percent(dof), dof), 0.025, 1e-9);
  }
}

TEST(AdjustedP, AgreesWithAWorkedExample) {
  // 0.01 * 4 / 1, 0.02 * 4 / 2, 0.03 * 4 / 3, and 0.5.
  EXPECT_THAT(
      adjusted_p(std::vector{0.5, 0.03, 0.01, 0.02}),
      ElementsAre(0.5, testing::DoubleEq(0.04), testing::DoubleEq(0.04), testing::DoubleEq(0.04)));
  EXPECT_THAT(adjusted_p({}), IsEmpty());
}

TEST(AdjustedP, IsNeverLessThanTheValueAndKeepsTheOrder) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> p(static_cast<std::size_t>(1 + trial));
    for (double& value : p) value = std::uniform_real_distribution<>(0, 1)(random);
    const std::vector<double> adjusted = adjusted_p(p);
    EXPECT_THAT(adjusted, Each(Le(1.0)));
    for (std::size_t i = 0; i < p.size(); ++i) {
      EXPECT_GE(adjusted[i], p[i]);
      for (std::size_t k = 0; k < p.size(); ++k) {
        EXPECT_TRUE(p[i] >= p[k] || adjusted[i] <= adjusted[k]);
      }
    }
  }
}

TEST(AdjustedP, OfCleanSuitesRaisesAlarmsAsOftenAsAsked) {
  std::mt19937_64 random(2);
  constexpr int kSuites = 4000;
  int alarms = 0;
  for (int suite = 0; suite < kSuites; ++suite) {
    std::vector<double> p(50);
    for (double& value : p) value = std::uniform_real_distribution<>(0, 1)(random);
    const std::vector<double> adjusted = adjusted_p(p);
    alarms += *std::min_element(adjusted.begin(), adjusted.end()) <= 0.1 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(alarms) / kSuites, 0.1, 0.015);
}

}  // namespace
}  // namespace assay
