#include "timing/measure.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace assay {
namespace {

/// Feeds samples until the rule stops; they take no time.
template <typename Next>
std::pair<StopReason, std::size_t> run(const StopRule& rule, Next next) {
  std::vector<double> samples;
  for (;;) {
    samples.push_back(next(samples.size()));
    if (const auto reason = rule.decide(samples, 0)) return {*reason, samples.size()};
  }
}

using End = std::pair<StopReason, std::size_t>;

TEST(StopRule, ASteadyKernelNeedsSevenSamples) {
  EXPECT_EQ(run(StopRule({}, {}), [](std::size_t) { return 100.0; }),
            End(StopReason::precision, 7));
}

// Each sample of long work costs its time twice, with the rest behind it.
TEST(StopRule, LongWorkThatIsSteadyNeedsFiveSamples) {
  EXPECT_EQ(run(StopRule({}, {}), [](std::size_t) { return 2e6; }), End(StopReason::precision, 5));
  const auto unsteady = [](std::size_t i) { return i == 2 ? 2.1e6 : 2e6; };
  EXPECT_GT(run(StopRule({}, {}), unsteady).second, 6u);
}

TEST(StopRule, WhatIsClearlySlowerIsGivenUpAfterThree) {
  const StopRule rule({}, 100.0);
  EXPECT_EQ(run(rule, [](std::size_t) { return 126.0; }), End(StopReason::raced, 3));
  // One good sample among the first is reason enough to go on until there is an interval.
  const auto hopeful = [](std::size_t i) { return i == 1 ? 101.0 : 126.0; };
  const auto [reason, count] = run(rule, hopeful);
  EXPECT_EQ(reason, StopReason::raced);
  EXPECT_GT(count, 6u);
}

TEST(StopRule, WhatIsALittleSlowerIsGivenUpOnceItsIntervalSaysSo) {
  const StopRule rule({}, 100.0);
  EXPECT_EQ(run(rule, [](std::size_t) { return 110.0; }), End(StopReason::raced, 6));
  EXPECT_EQ(run(rule, [](std::size_t) { return 104.0; }), End(StopReason::precision, 7));
}

TEST(StopRule, WithoutABestNothingIsRaced) {
  EXPECT_EQ(run(StopRule({}, {}), [](std::size_t) { return 1e9; }).first, StopReason::precision);
}

// 50/50 between two modes: the interval of the median spans both whatever the number of samples.
TEST(StopRule, TwoModesAreStablyNoisy) {
  EXPECT_EQ(run(StopRule({}, {}), [](std::size_t i) { return i % 2 == 0 ? 100.0 : 150.0; }),
            End(StopReason::noise, 64));
}

// Honest noise of 3 % needs some 300 samples for half a percent; few may be given up before.
TEST(StopRule, HonestNoiseIsAveragedOut) {
  int precise = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<> time_ns(100, 3);
    precise += run(StopRule({}, {}), [&](std::size_t) { return time_ns(random); }).first ==
               StopReason::precision;
  }
  EXPECT_GE(precise, 85);
}

TEST(StopRule, TimeRunsOut) {
  MeasureSpec spec;
  spec.max_seconds_per_config = 1;
  const StopRule rule(spec, {});
  const std::vector<double> few = {1, 2, 3};
  EXPECT_EQ(rule.decide(few, 1.5), std::nullopt);
  EXPECT_EQ(rule.decide(few, 2.5), StopReason::time_limit);
  const std::vector<double> seven = {1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(rule.decide(seven, 0.5), std::nullopt);
  EXPECT_EQ(rule.decide(seven, 1.5), StopReason::time_limit);
}

// A fixed budget, as other tools spend it: no precision is enough, and nothing is raced.
TEST(StopRule, WithoutAPrecisionTheWholeTimeIsUsed) {
  const MeasureSpec spec{.precision_ratio = 0, .max_seconds_per_config = 0.1};
  const StopRule rule(spec, 10.0);
  const std::vector<double> steady(2000, 100.0);
  EXPECT_EQ(rule.decide(steady, 0.09), std::nullopt);
  EXPECT_EQ(rule.decide(steady, 0.11), StopReason::time_limit);
}

}  // namespace
}  // namespace assay
