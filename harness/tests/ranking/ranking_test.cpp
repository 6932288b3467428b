#include <algorithm>
#include <limits>
#include <random>

#include "matchers.h"
#include "ranking/race.h"

namespace assay {
namespace {

TEST(Ranking, OfNobodyIsEmpty) { EXPECT_THAT(rank_entries({}), IsEmpty()); }

TEST(Ranking, OfOneEntryIsItself) {
  const auto ranking = rank_entries({Race(1).entry("k", "A=1", 100)});
  ASSERT_EQ(ranking.size(), 1u);
  EXPECT_TRUE(ranking[0].winner);
  EXPECT_TRUE(ranking[0].tied);
  EXPECT_TRUE(same(ranking[0].ratio_to_best, {1, 1, 1}));
  EXPECT_TRUE(same(ranking[0].speedup_over_baseline, {0, 0, 0}));
}

TEST(Ranking, TellsTwoPercentApartAtHalfAPercentOfNoise) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Race race(seed);
    const auto ranking = rank_entries({race.entry("k", "A=1", 102), race.entry("k", "A=2", 100)});
    EXPECT_EQ(winner(ranking), "A=2");
    const RankEntry& slow = find(ranking, "A=1");
    EXPECT_FALSE(slow.tied) << seed;
    EXPECT_NEAR(slow.ratio_to_best.value, 1.02, 0.005);
    EXPECT_GT(slow.ratio_to_best.low, 1);
  }
}

// The true difference is a tenth of the noise, less than the rounds resolve. So the fixed rule must
// name the winner, and not the luck of the samples.
TEST(Ranking, TiesAreBrokenByRuleAndNotByLuck) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Race race(seed);
    RankEntry lean = race.entry("k", "A=1", 100.01, 0.001);
    RankEntry fat = race.entry("k", "A=2", 100, 0.001);
    lean.tie_break.registers = 64;
    fat.tie_break.registers = 128;
    const auto ranking = rank_entries({lean, fat});
    EXPECT_TRUE(find(ranking, "A=1").tied && find(ranking, "A=2").tied) << seed;
    EXPECT_EQ(winner(ranking), "A=1") << seed;
  }
}

// A kernel can tell two copies of its code apart, and be slow in one. All that were less than 60 %
// behind it were then tied, and registers decided between them.
TEST(Ranking, NobodyWinsWhereTwoCopiesOfTheSameCodeDiffer) {
  Race race(1);
  RankEntry fast = race.entry("k", "A=1", 100), lean = race.entry("k", "A=2", 110);
  fast.tie_break.registers = 128;
  lean.tie_break.registers = 16;
  EXPECT_EQ(winner(rank_entries({fast, lean}, 0.04)), "A=1");
  for (const RankEntry& entry : rank_entries({fast, lean}, 0.6)) EXPECT_FALSE(entry.winner);
}

// Eight configurations are a tenth of a percent apart, and the slower ones use fewer registers. If
// the winner came from the edge of the tie, the next measurement would often call it slower.
TEST(Ranking, AWinnerIsAmongTheTiedWhenAllIsMeasuredAgain) {
  const auto measure = [](std::uint64_t seed) {
    Race race(seed);
    std::vector<RankEntry> entries;
    for (int i = 0; i < 8; ++i) {
      entries.push_back(race.entry("k", "A=" + std::to_string(i), 100 + 0.1 * i, 0.003));
      entries.back().tie_break.registers = 100 - i;
    }
    return rank_entries(entries);
  };
  int lost = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto first = measure(2 * seed), second = measure(2 * seed + 1);
    lost += !find(second, winner(first)).tied || !find(first, winner(second)).tied;
  }
  EXPECT_LE(lost, 2);
}

TEST(Ranking, TheEliminatedAreComparedOverTheirOwnRounds) {
  Race race(1);
  RankEntry out = race.entry("k", "A=1", 110);
  out.samples_ns.resize(8);
  out.eliminated = true;
  const auto ranking = rank_entries({out, race.entry("k", "A=2", 100)});
  EXPECT_EQ(winner(ranking), "A=2");
  const RankEntry& last = ranking.back();
  EXPECT_EQ(last.config, "A=1");
  EXPECT_TRUE(last.eliminated);
  EXPECT_EQ(last.failure, "");
  EXPECT_FALSE(last.tied);
  EXPECT_NEAR(last.ratio_to_best.value, 1.1, 0.01);
}

// The clock fell for one of them. In time it is slower, in cycles it is not.
TEST(Ranking, CyclesTellASlowClockFromASlowKernel) {
  Race race(1);
  RankEntry fast = race.entry("k", "A=1", 100);
  RankEntry slow = race.entry("k", "A=2", 110);
  fast.clocks_mhz.assign(fast.samples_ns.size(), 1980);
  EXPECT_EQ(find(rank_entries({fast, slow}), "A=2").cycles_ratio_to_best.value, 0);
  slow.clocks_mhz.assign(slow.samples_ns.size(), 1800);
  const auto ranking = rank_entries({fast, slow});
  EXPECT_NEAR(find(ranking, "A=2").ratio_to_best.value, 1.1, 0.01);
  EXPECT_NEAR(find(ranking, "A=2").cycles_ratio_to_best.value, 1, 0.01);
  EXPECT_TRUE(same(find(ranking, "A=1").cycles_ratio_to_best, {1, 1, 1}));
}

TEST(Ranking, TheObjectiveChoosesTheWinner) {
  Race race(1);
  RankEntry quick = race.entry("k", "A=1", 100);
  RankEntry frugal = race.entry("k", "A=2", 150);
  quick.energy_j = 0.1;
  frugal.energy_j = 0.06;
  const std::vector<RankEntry> entries{quick, frugal};
  EXPECT_EQ(winner(rank_entries(entries, 0, Objective::time)), "A=1");
  EXPECT_EQ(winner(rank_entries(entries, 0, Objective::energy)), "A=2");
  EXPECT_EQ(winner(rank_entries(entries, 0, Objective::edp)), "A=2");
  frugal.energy_j = 0.08;
  EXPECT_EQ(winner(rank_entries({quick, frugal}, 0, Objective::edp)), "A=1");
}

TEST(Ranking, AMarginBelowTheNoiseFloorIsATie) {
  Race race(1);
  const std::vector<RankEntry> entries = {race.entry("k", "A=1", 101), race.entry("k", "A=2", 100)};
  EXPECT_FALSE(find(rank_entries(entries, 0.005), "A=1").tied);
  const auto ranking = rank_entries(entries, 0.02);
  EXPECT_TRUE(find(ranking, "A=1").tied);
  // The fixed rule decides among those within a quarter of the margin.
  EXPECT_EQ(winner(ranking), "A=2");
  EXPECT_EQ(winner(rank_entries(entries, kMostNoise)), "A=1");
}

TEST(NoiseFloor, IsTheFartherEndOfTheInterval) {
  NoiseFloor noise;
  noise.ratio = {1.001, 0.998, 1.003};
  EXPECT_NEAR(noise.margin_ratio(), 0.003, 1e-12);
  noise.ratio = {0.999, 0.99, 1.003};
  EXPECT_NEAR(noise.margin_ratio(), 1 / 0.99 - 1, 1e-12);
  // Too few rounds for an interval.
  noise.ratio = {1.004, 0, std::numeric_limits<double>::infinity()};
  EXPECT_NEAR(noise.margin_ratio(), 0.004, 1e-12);
}

TEST(Ranking, IdenticalSamplesTie) {
  const RankEntry a = Race(1).entry("k", "A=1", 100);
  RankEntry b = a, c = a;
  b.config = "A=2";
  c.config = "A=0";
  for (const RankEntry& entry : rank_entries({a, b, c})) {
    EXPECT_TRUE(entry.tied);
    EXPECT_EQ(entry.winner, entry.config == "A=0");
    EXPECT_TRUE(same(entry.ratio_to_best, {1, 1, 1}));
  }
}

TEST(Ranking, TieBreakLooksAtSpillsThenRegistersThenSharedMemoryThenText) {
  const RankEntry base = Race(1).entry("k", "B=1", 100);
  const auto winner_with = [&](TieBreak tie_break, const std::string& config) {
    RankEntry other = base;
    other.tie_break = tie_break;
    other.config = config;
    RankEntry first = base;
    first.tie_break = {8, 100, 1000};
    return winner(rank_entries({first, other}));
  };
  EXPECT_EQ(winner_with({0, 255, 9999}, "C=1"), "C=1");
  EXPECT_EQ(winner_with({16, 1, 1}, "A=1"), "B=1");
  EXPECT_EQ(winner_with({8, 99, 9999}, "C=1"), "C=1");
  EXPECT_EQ(winner_with({8, 101, 1}, "A=1"), "B=1");
  EXPECT_EQ(winner_with({8, 100, 999}, "C=1"), "C=1");
  EXPECT_EQ(winner_with({8, 100, 1001}, "A=1"), "B=1");
  EXPECT_EQ(winner_with({8, 100, 1000}, "A=1"), "A=1");
  EXPECT_EQ(winner_with({8, 100, 1000}, "C=1"), "B=1");
}

TEST(Ranking, TiedMeansTiedWithTheFastestNotWithTheWinner) {
  // b swings widely about a and c; c is slower than a in every round.
  RankEntry a{"k", "A=1", std::vector<double>(kRounds, 100.0)}, b{"k", "B=1", {}},
      c{"k", "C=1", std::vector<double>(kRounds, 100.8)};
  a.tie_break.registers = 100;
  b.tie_break.registers = 50;
  c.tie_break.registers = 1;
  for (std::size_t i = 0; i < kRounds; ++i)
    b.samples_ns.push_back(98.65 + 0.1 * static_cast<double>(i));
  const auto ranking = rank_entries({a, b, c});
  EXPECT_TRUE(find(ranking, "A=1").tied);
  EXPECT_TRUE(find(ranking, "B=1").tied);
  EXPECT_FALSE(find(ranking, "C=1").tied);
  EXPECT_EQ(winner(ranking), "B=1");
  // Ratios are to the winner, even for the one with the better median.
  EXPECT_TRUE(same(find(ranking, "B=1").ratio_to_best, {1, 1, 1}));
  EXPECT_NEAR(find(ranking, "A=1").ratio_to_best.value, 1 / 1.001, 5e-4);
  EXPECT_EQ(ranking[0].config, "A=1");
}

TEST(Ranking, DoesNotDependOnTheOrderOfEntries) {
  Race race(3);
  std::vector<RankEntry> entries;
  for (int i = 0; i < 6; ++i) {
    entries.push_back(race.entry(i % 2 ? "k" : "l", "A=" + std::to_string(i), 100 + 0.1 * i));
    entries.back().tie_break.registers = 100 - i / 2;
  }
  entries.push_back(race.entry("", "cublaslt_first", 104));
  entries.push_back(race.entry("", "cublaslt_best", 101));
  entries[2].failure = "mismatch";
  entries[4].samples_ns = entries[5].samples_ns;
  const auto expected = rank_entries(entries);
  std::mt19937_64 random(1);
  for (int run = 0; run < 50; ++run) {
    std::shuffle(entries.begin(), entries.end(), random);
    const auto ranking = rank_entries(entries);
    ASSERT_EQ(ranking.size(), expected.size());
    for (std::size_t i = 0; i < ranking.size(); ++i) {
      EXPECT_EQ(ranking[i].config, expected[i].config);
      EXPECT_EQ(ranking[i].winner, expected[i].winner);
      EXPECT_EQ(ranking[i].tied, expected[i].tied);
      EXPECT_EQ(ranking[i].failure, expected[i].failure);
      EXPECT_TRUE(same(ranking[i].ratio_to_best, expected[i].ratio_to_best));
      EXPECT_TRUE(same(ranking[i].speedup_over_baseline, expected[i].speedup_over_baseline));
    }
  }
}

TEST(Ranking, MeasuresAgainstTheFastestBaseline) {
  Race race(2);
  const auto ranking =
      rank_entries({race.entry("k", "A=1", 100), race.entry("", "cublaslt_first", 140),
                    race.entry("", "cublaslt_best", 110)});
  const Interval& speedup = find(ranking, "A=1").speedup_over_baseline;
  EXPECT_NEAR(speedup.value, 1.10, 0.005);
  EXPECT_GT(speedup.low, 1.09);
  EXPECT_LT(speedup.high, 1.11);
  EXPECT_TRUE(same(find(ranking, "cublaslt_best").speedup_over_baseline, {1, 1, 1}));
  EXPECT_NEAR(find(ranking, "cublaslt_first").ratio_to_best.value, 1.4, 0.01);
}

// One scale for a whole matrix is less work than one for each block, and less exact.
TEST(Ranking, ABaselineOfAnotherAccuracyIsTimedAndNoRival) {
  Race race(2);
  const auto ranking = rank_entries({race.entry("k", "A=1", 100), race.entry("", "blocks", 140),
                                     race.entry("", "tensor_other_accuracy", 90)});
  EXPECT_NEAR(find(ranking, "A=1").speedup_over_baseline.value, 1.40, 0.005);
  EXPECT_NEAR(find(ranking, "tensor_other_accuracy").ratio_to_best.value, 0.9, 0.01);
}

TEST(Ranking, ABaselineNeverWins) {
  Race race(2);
  const auto ranking = rank_entries({race.entry("k", "A=1", 100), race.entry("", "cublaslt", 50)});
  EXPECT_EQ(winner(ranking), "A=1");
  EXPECT_EQ(ranking[0].config, "cublaslt");
  EXPECT_FALSE(ranking[0].tied);
  EXPECT_NEAR(ranking[1].speedup_over_baseline.value, 0.5, 0.005);
}

TEST(Ranking, TheFailedComeLastAndKeepTheirReason) {
  Race race(4);
  RankEntry fast = race.entry("k", "A=1", 25);
  fast.failure = "wrote 2 % of its output";
  const auto ranking = rank_entries({fast, race.entry("k", "A=2", 100)});
  EXPECT_EQ(winner(ranking), "A=2");
  EXPECT_EQ(ranking[1].config, "A=1");
  EXPECT_EQ(ranking[1].failure, "wrote 2 % of its output");
  EXPECT_TRUE(same(ranking[1].ratio_to_best, {0, 0, 0}));
}

TEST(Ranking, HasNoWinnerWhenAllFailed) {
  Race race(4);
  std::vector<RankEntry> entries = {race.entry("k", "A=1", 100), race.entry("k", "A=2", 101),
                                    race.entry("", "cublaslt", 100)};
  entries[0].failure = entries[1].failure = "mismatch";
  const auto ranking = rank_entries(entries);
  EXPECT_EQ(winner(ranking), "");
  EXPECT_EQ(ranking[0].config, "cublaslt");
}

TEST(Ranking, AnEntryThatMissedRoundsFailed) {
  Race race(5);
  RankEntry partly = race.entry("k", "A=1", 50), never = partly, zero = partly;
  partly.samples_ns.resize(10);
  never.config = "A=2";
  never.samples_ns.clear();
  zero.config = "A=3";
  zero.samples_ns[4] = 0;
  RankEntry baseline = race.entry("", "cublaslt", 60);
  baseline.samples_ns.pop_back();
  const auto ranking = rank_entries({partly, never, zero, baseline, race.entry("k", "A=4", 100)});
  EXPECT_EQ(winner(ranking), "A=4");
  EXPECT_THAT(find(ranking, "A=1").failure, HasSubstr("10 of 30 rounds"));
  EXPECT_THAT(find(ranking, "A=2").failure, HasSubstr("never timed"));
  EXPECT_THAT(find(ranking, "A=3").failure, HasSubstr("round 5 is 0 ns"));
  EXPECT_THAT(find(ranking, "cublaslt").failure, HasSubstr("29 of 30 rounds"));
  EXPECT_TRUE(same(find(ranking, "A=4").speedup_over_baseline, {0, 0, 0}));
}

TEST(Ranking, TooFewRoundsTellNothingApart) {
  RankEntry fast{"k", "A=1", {100, 100, 100, 100, 100}};
  RankEntry slow{"k", "A=2", {200, 200, 200, 200, 200}};
  fast.tie_break.registers = 200;
  slow.tie_break.registers = 100;
  const auto ranking = rank_entries({fast, slow});
  EXPECT_TRUE(ranking[0].tied && ranking[1].tied);
}

}  // namespace
}  // namespace assay
