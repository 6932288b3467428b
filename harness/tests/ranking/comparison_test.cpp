#include "ranking/comparison.h"

#include <cmath>
#include <random>

#include "matchers.h"

namespace assay {
namespace {

constexpr double kMargin = 0.02;

/// Runs of one kernel, whose samples have a spread of 1 %.
class Machine {
 public:
  /// `follows_clock`: 1: the time is cycles; 0: the clock does not matter.
  Rounds run(double time_ns, double clock_mhz = 1900, double follows_clock = 1,
             std::size_t num_rounds = 60) {
    Rounds rounds;
    const double slower = std::pow(1900 / clock_mhz, follows_clock);
    for (std::size_t i = 0; i < num_rounds; ++i) {
      rounds.times_ns.push_back(time_ns * slower * noise());
      rounds.clocks_mhz.push_back(clock_mhz);
      rounds.yardstick_ns.push_back(1000 * slower * noise());
    }
    return rounds;
  }
  Rounds run_alone(double time_ns, double clock_mhz = 1900, double follows_clock = 1) {
    Rounds rounds = run(time_ns, clock_mhz, follows_clock);
    rounds.yardstick_ns.clear();
    return rounds;
  }

 private:
  double noise() { return std::exp(std::normal_distribution<>(0, 0.01)(random_)); }
  std::mt19937_64 random_{1};
};

Judgement judge(const Contest& contest) {
  return compare_suite({&contest, 1}, {}, kMargin).judgements.at(0);
}

Contest swapped(const Contest& contest) {
  Contest other = contest;
  std::swap(other.before, other.after);
  return other;
}

TEST(CompareSuite, OfNothingIsEmpty) {
  EXPECT_TRUE(compare_suite({}, {}, kMargin).judgements.empty());
}

TEST(CompareSuite, TellsSlowerFasterAndSame) {
  Machine machine;
  const Contest slower{machine.run(1000), machine.run(1080)};
  EXPECT_EQ(judge(slower).fate, Fate::slower);
  EXPECT_EQ(judge(swapped(slower)).fate, Fate::faster);
  EXPECT_EQ(judge({machine.run(1000), machine.run(1001)}).fate, Fate::same);
  EXPECT_TRUE(judge(slower).may_be_slower);
  EXPECT_FALSE(judge(swapped(slower)).may_be_slower);
}

TEST(CompareSuite, IsAntisymmetric) {
  Machine machine;
  for (const double time_ns : {1000.0, 1010.0, 1030.0, 1100.0}) {
    for (const double clock_mhz : {1900.0, 1700.0}) {
      const Contest contest{machine.run(1000), machine.run(time_ns, clock_mhz)};
      const Judgement there = judge(contest);
      const Judgement back = judge(swapped(contest));
      EXPECT_NEAR(there.ratio.value * back.ratio.value, 1, 1e-9);
      EXPECT_NEAR(there.ratio.low * back.ratio.high, 1, 1e-9);
      EXPECT_DOUBLE_EQ(there.q, back.q);
      EXPECT_EQ(there.fate == Fate::slower, back.fate == Fate::faster);
      EXPECT_EQ(there.fate == Fate::same, back.fate == Fate::same);
    }
  }
}

TEST(CompareSuite, TakesNoClockForAChange) {
  Machine machine;
  // A kernel that waits for memory and one that computes, at a clock 10 % lower.
  for (const double follows : {0.0, 0.5, 1.0}) {
    const Judgement one =
        judge({machine.run(1000, 1900, follows), machine.run(1000, 1710, follows)});
    EXPECT_EQ(one.fate, Fate::same) << follows;
    EXPECT_NEAR(one.clock_ratio, 0.9, 1e-9);
  }
  EXPECT_EQ(judge({machine.run(1000), machine.run(1080, 1710)}).fate, Fate::slower);
}

TEST(CompareSuite, BelievesNeitherTimeNorCyclesAloneWhereTheClockChanged) {
  Machine machine;
  const Judgement one = judge({machine.run_alone(1000), machine.run_alone(1000, 1710)});
  EXPECT_EQ(one.fate, Fate::unsure);
  EXPECT_THAT(one.reason, HasSubstr("the clock changed"));
  EXPECT_TRUE(one.may_be_slower);
  EXPECT_EQ(judge({machine.run_alone(1000), machine.run_alone(1200, 1710)}).fate, Fate::slower);
}

TEST(CompareSuite, SeesThatTheBaselineChanged) {
  Machine machine;
  Contest contest{machine.run(1000), machine.run(1000)};
  for (double& ns : contest.after.yardstick_ns) ns *= 0.9;
  EXPECT_EQ(judge(contest).fate, Fate::unsure);
  EXPECT_THAT(judge(contest).reason, HasSubstr("the baseline itself moved"));
  EXPECT_EQ(judge(swapped(contest)).fate, Fate::unsure);
}

TEST(CompareSuite, ForgivesWhatSlowsTheBaselineJustAsMuch) {
  Machine machine;
  Contest contest{machine.run(1000), machine.run(1000)};
  for (double& ns : contest.after.times_ns) ns *= 1.1;
  for (double& ns : contest.after.yardstick_ns) ns *= 1.1;
  EXPECT_EQ(judge(contest).fate, Fate::same);
  EXPECT_THAT(judge(contest).reason, HasSubstr("together with the baseline's"));
}

TEST(CompareSuite, NeverCallsIdenticalCodeChanged) {
  Machine machine;
  const Contest contest{machine.run(1000), machine.run(1500), true};
  EXPECT_EQ(judge(contest).fate, Fate::same);
  EXPECT_FALSE(judge(contest).may_be_slower);
  EXPECT_THAT(judge(contest).reason, HasSubstr("the same machine code"));
}

TEST(CompareSuite, LearnsTheNoiseFromIdenticalCode) {
  Machine machine;
  std::vector<Contest> other_pairs;
  for (int i = 0; i < 20; ++i) {
    other_pairs.push_back({machine.run(1000), machine.run(i % 2 == 0 ? 1060 : 940), true});
  }
  const Contest contest{machine.run(1000), machine.run(1060)};
  EXPECT_EQ(judge(contest).fate, Fate::slower);
  const SuiteComparison noisy = compare_suite({&contest, 1}, other_pairs, kMargin);
  EXPECT_EQ(noisy.judgements[0].fate, Fate::unsure);
  EXPECT_EQ(noisy.noise.num_pairs, 20);
  EXPECT_GT(noisy.noise.yardstick, 0.05);
}

TEST(CompareSuite, GoesNoFinerThanTheNoiseFloor) {
  Machine machine;
  Contest contest{machine.run(1000), machine.run(1080)};
  contest.noise_ratio = 0.1;
  EXPECT_EQ(judge(contest).fate, Fate::unsure);
  EXPECT_EQ(judge(contest).margin_ratio, 0.1);
  contest.noise_ratio = HUGE_VAL;
  EXPECT_EQ(judge(contest).fate, Fate::unsure);
}

TEST(CompareSuite, DecidesNothingByFewRounds) {
  Machine machine;
  for (const std::size_t rounds : {0, 1, 5}) {
    const Judgement one = judge({machine.run(1000), machine.run(2000, 1900, 1, rounds)});
    EXPECT_EQ(one.fate, Fate::unsure);
    EXPECT_THAT(one.reason, HasSubstr("rounds"));
    EXPECT_TRUE(one.may_be_slower);
  }
  Contest broken{machine.run(1000), machine.run(1000)};
  broken.after.times_ns[3] = 0;
  EXPECT_EQ(judge(broken).fate, Fate::unsure);
}

TEST(CompareSuite, IsStricterTheMoreItCompares) {
  Machine machine;
  std::vector<Contest> contests{{machine.run(1000), machine.run(1045)}};
  const double alone = judge(contests[0]).q;
  for (int i = 0; i < 200; ++i) contests.push_back({machine.run(1000), machine.run(1000)});
  EXPECT_GT(compare_suite(contests, {}, kMargin).judgements[0].q, alone * 100);
}

TEST(LevelOf, DoesNotMoveWithAFewLateSamples) {
  Machine machine;
  Rounds rounds = machine.run(1000);
  const double before = level_of(log_times(rounds))->log_value;
  for (const std::size_t i : {3, 17, 40, 41}) rounds.times_ns[i] *= 50;
  EXPECT_NEAR(level_of(log_times(rounds))->log_value, before, 0.002);
}

TEST(LevelOf, CountsADriftAsError) {
  Machine machine;
  Rounds rounds = machine.run(1000);
  const double error = level_of(log_times(rounds))->variance;
  for (std::size_t i = 0; i < rounds.times_ns.size(); ++i) {
    rounds.times_ns[i] *= 1 + 0.002 * static_cast<double>(i);
  }
  EXPECT_GT(level_of(log_times(rounds))->variance, 10 * error);
}

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
  // 0.5, 0.03 * 4 / 3, 0.012 * 4 / 2, and no more than that instead of 0.01 * 4 / 1.
  EXPECT_THAT(adjusted_p(std::vector{0.5, 0.03, 0.01, 0.012}),
              ElementsAre(0.5, testing::DoubleEq(0.04), 0.024, 0.024));
  EXPECT_THAT(adjusted_p({}), IsEmpty());
}

}  // namespace
}  // namespace assay
