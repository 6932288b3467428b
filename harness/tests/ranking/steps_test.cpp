#include "ranking/steps.h"

#include <random>

#include "matchers.h"

namespace assay {
namespace {

constexpr double kLeast = 0.01;

/// Levels in percent, each for a number of runs, with a noise of 0.3 %.
History history(const std::vector<std::pair<double, int>>& levels, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  History result;
  for (const auto& [percent, num_runs] : levels) {
    for (int i = 0; i < num_runs; ++i) {
      result.values.push_back(10 + percent / 100 + std::normal_distribution<>(0, 0.003)(random));
    }
  }
  return result;
}

std::vector<Step> steps_of(const History& one) { return find_steps({&one, 1}, kLeast); }

TEST(FindSteps, FindsNoneWhereThereIsNothing) {
  EXPECT_THAT(find_steps({}, kLeast), IsEmpty());
  EXPECT_THAT(steps_of({}), IsEmpty());
  for (int num_runs = 1; num_runs < 40; ++num_runs) {
    EXPECT_THAT(steps_of(history({{0, num_runs}})), IsEmpty()) << num_runs;
  }
  EXPECT_THAT(steps_of({std::vector<double>(50, 3.0)}), IsEmpty());
}

TEST(FindSteps, FindsAStepWhereItIs) {
  for (int at = 5; at <= 25; at += 5) {
    const std::vector<Step> steps = steps_of(history({{0, at}, {5, 30 - at}}));
    ASSERT_THAT(steps, SizeIs(1)) << at;
    EXPECT_EQ(steps[0].kind, StepKind::step);
    EXPECT_EQ(steps[0].first_after, static_cast<std::size_t>(at));
    EXPECT_EQ(steps[0].last_before, static_cast<std::size_t>(at - 1));
    EXPECT_NEAR(steps[0].ratio.value, 1.05, 0.005);
    EXPECT_LT(steps[0].ratio.low, steps[0].ratio.value);
  }
}

TEST(FindSteps, ReadsTheSameBackwards) {
  History there = history({{0, 12}, {4, 9}, {-3, 14}});
  const std::vector<Step> steps = steps_of(there);
  std::reverse(there.values.begin(), there.values.end());
  const std::vector<Step> back = steps_of(there);
  ASSERT_THAT(steps, SizeIs(2));
  ASSERT_THAT(back, SizeIs(2));
  EXPECT_EQ(steps[0].first_after, 12u);
  EXPECT_EQ(back[0].first_after, 35u - 21u);
  EXPECT_NEAR(steps[0].ratio.value * back[1].ratio.value, 1, 1e-9);
}

TEST(FindSteps, KeepsAChangeAtTheEdgePending) {
  for (int num_after = 1; num_after <= 4; ++num_after) {
    const std::vector<Step> steps = steps_of(history({{0, 20}, {5, num_after}}));
    ASSERT_THAT(steps, SizeIs(1)) << num_after;
    EXPECT_EQ(steps[0].kind, num_after < 3 ? StepKind::pending : StepKind::step) << num_after;
    EXPECT_EQ(steps[0].first_after, 20u);
  }
}

TEST(FindSteps, TakesNoOutlierForAStep) {
  History one = history({{0, 30}});
  one.values[10] += 0.2;
  one.values[11] += 0.3;
  one.values[20] -= 0.2;
  EXPECT_THAT(steps_of(one), IsEmpty());
}

TEST(FindSteps, FindsSmallStepsThatAddUp) {
  std::vector<std::pair<double, int>> levels;
  for (int i = 0; i < 10; ++i) levels.emplace_back(0.4 * i, 4);
  double total = 1;
  for (const Step& step : steps_of(history(levels))) total *= step.ratio.value;
  EXPECT_GT(total, 1.02);
}

TEST(FindSteps, WantsCyclesToAgreeWithTimesThatHaveNoBaseline) {
  History one = history({{0, 12}, {5, 12}});
  one.checks = history({{0, 24}}, 2).values;  // the same cycles: a lower clock
  EXPECT_THAT(steps_of(one), IsEmpty());
  one.checks = history({{0, 12}, {5, 12}}, 2).values;
  EXPECT_THAT(steps_of(one), SizeIs(1));
  one.checks = history({{0, 12}, {-5, 12}}, 2).values;
  EXPECT_THAT(steps_of(one), IsEmpty());
}

TEST(FindSteps, DoesNotDependOnTheUnitNorOnTheOtherOrder) {
  std::vector<History> histories;
  for (std::uint64_t i = 0; i < 20; ++i) {
    histories.push_back(history({{0, 10}, {i % 4 == 0 ? 6 : 0, 10}}, i));
  }
  const std::vector<Step> steps = find_steps(histories, kLeast);
  ASSERT_THAT(steps, SizeIs(5));
  std::reverse(histories.begin(), histories.end());
  for (double& value : histories[19].values) value += 7;
  const std::vector<Step> other = find_steps(histories, kLeast);
  ASSERT_THAT(other, SizeIs(5));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(other[i].series, 19 - steps[4 - i].series);
    EXPECT_NEAR(other[i].ratio.value, steps[4 - i].ratio.value, 1e-9);
    EXPECT_NEAR(other[i].q, steps[4 - i].q, 1e-9);
  }
}

}  // namespace
}  // namespace assay
