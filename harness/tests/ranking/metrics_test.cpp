#include <fmt/format.h>

#include <algorithm>

#include "matchers.h"
#include "ranking/race.h"

namespace assay {
namespace {

/// Three that are as fast, and one that is 3 % faster. What tells them apart are their registers.
std::vector<RankEntry> with_registers(Race& race) {
  std::vector<RankEntry> entries = {race.entry("k", "A=1", 100), race.entry("k", "A=2", 100.1),
                                    race.entry("k", "A=3", 99.9), race.entry("k", "A=4", 97)};
  const std::int64_t registers[] = {64, 80, 72, 128};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].figures = {{"registers", registers[i]}};
    entries[i].energy_j = 0.1;
  }
  return entries;
}

Objective objective(const std::string& text) { return parse_objective(text).value(); }

TEST(Metrics, AMetricChoosesTheWinner) {
  Race race(2);
  const std::vector<RankEntry> entries = with_registers(race);
  EXPECT_EQ(winner(rank_entries(entries, 0)), "A=4");
  EXPECT_EQ(winner(rank_entries(entries, 0, objective("minimize time_ns * registers"))), "A=1");
  EXPECT_EQ(winner(rank_entries(entries, 0, objective("maximize registers / time_ns"))), "A=4");
  EXPECT_EQ(winner(rank_entries(entries, 0, objective("maximize 1 / (time_ns * registers)"))),
            "A=1");
}

// With the times alone one of the last three is as good as another.
TEST(Metrics, TiesFollowFromTheRoundsAndTheMarginFromTheTimes) {
  Race race(3);
  std::vector<RankEntry> entries = with_registers(race);
  const auto tied = [&](const std::string& text, double noise_ratio = 0) {
    std::string names;
    for (const RankEntry& entry : rank_entries(entries, noise_ratio, objective(text))) {
      if (entry.tied) names += entry.config.back();
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  EXPECT_EQ(tied("minimize max(time_ns, 200)"), "1234") << "none is better than 200 ns";
  EXPECT_EQ(tied("minimize time_ns"), "4");
  // A time that is 2 % less is a cost that is 4 % less.
  EXPECT_EQ(tied("minimize time_ns * time_ns"), "4");
  EXPECT_EQ(tied("minimize time_ns * time_ns", 0.02), "4");
  EXPECT_EQ(tied("minimize time_ns * time_ns", 0.04), "1234");
  // What is exact has no margin.
  EXPECT_EQ(tied("minimize 1000 + registers", kMostNoise), "1");
  EXPECT_EQ(tied("minimize registers / 128 >= 0.625"), "13") << "whose costs are 0";
  // What is counted has one of 1 %, wherever it stands.
  for (RankEntry& entry : entries) {
    if (entry.figures.empty()) continue;
    const double above = to_real(entry.figures[0].second) - 64;
    entry.figures.emplace_back("dram_read", 64000 + 60 * above);  // 0, 1.5, 0.75 and 6 % more
  }
  EXPECT_EQ(tied("minimize dram_read"), "13");
  EXPECT_EQ(tied("minimize dram_read * dram_read"), "13");
  EXPECT_EQ(tied("maximize 1 / (1e5 + dram_read)"), "13");
}

TEST(Metrics, WhatHasNoAnswerFails) {
  Race race(4);
  std::vector<RankEntry> entries = with_registers(race);
  entries[3].figures = {};
  entries[0].figures = {{"registers", std::int64_t{0}}};
  entries.push_back(race.entry("", "cublaslt", 50));
  const auto ranking = rank_entries(entries, 0, objective("minimize time_ns / registers"));
  EXPECT_EQ(winner(ranking), "A=2");
  EXPECT_THAT(find(ranking, "A=4").failure,
              HasSubstr("its objective has no answer: unknown name \"registers\""));
  EXPECT_THAT(find(ranking, "A=1").failure, HasSubstr("divides by zero"));
  EXPECT_THAT(find(ranking, "cublaslt").failure, IsEmpty()) << "a baseline has no registers";
  EXPECT_NEAR(find(ranking, "A=2").speedup_over_baseline.value, 0.5, 0.01);
}

std::string front_of(const std::vector<RankEntry>& entries, const std::string& text,
                     double noise_ratio = 0) {
  RankRecord rank;
  rank.objective = objective(text);
  rank.entries = rank_entries(entries, noise_ratio, rank.objective);
  rank.noise = NoiseFloor{"", "", {}, {1 + noise_ratio, 1, 1 + noise_ratio}};
  std::string names;
  for (const FrontEntry& one : pareto_front(rank)) names += one.entry->config.back();
  return names;
}

TEST(ParetoList, HasWhatNothingOnItDominates) {
  Race race(5);
  std::vector<RankEntry> entries = with_registers(race);
  // 4 is faster; 1 has the fewest registers. 3 has more, and is faster by no more than noise.
  EXPECT_EQ(front_of(entries, "time; minimize registers"), "41");
  EXPECT_EQ(front_of(entries, "minimize registers; time"), "14");
  EXPECT_EQ(front_of(entries, "time; minimize registers", kMostNoise), "41")
      << "all are as fast, and 4 is too far ahead for its registers to matter";
  EXPECT_EQ(front_of(entries, "time; energy"), "4");
  entries[1].energy_j = 0.0995;  // within the margin
  EXPECT_EQ(front_of(entries, "time; energy"), "4");
  entries[1].energy_j = 0.098;
  EXPECT_EQ(front_of(entries, "time; energy"), "42");
  // A list once had all the ties of its winner, which are no choice between objectives.
  EXPECT_EQ(front_of(entries, "minimize min(energy_j, 0)").size(), 1u) << "none is better";
  entries[0].eliminated = true;
  EXPECT_EQ(front_of(entries, "time; minimize registers"), "43");
}

// Each is as fast as the next, but the first is faster than the third. Each has fewer registers
// than the one before.
TEST(ParetoList, OneThatIsDominatedByWhatIsNotListedIsListed) {
  Race race(8);
  std::vector<RankEntry> entries;
  for (std::int64_t i = 1; i <= 4; ++i) {
    entries.push_back(
        race.entry("k", fmt::format("A={}", i), 100 + 0.4 * static_cast<double>(i), 1e-5));
    entries.back().figures = {{"registers", 100 - i}};
  }
  EXPECT_EQ(front_of(entries, "time; minimize registers"), "124");
}

// Of those that are as fast the tie-break takes the fewest spills. Here these are dominated by
// another that is not slower.
TEST(ParetoList, TheWinnerIsOnIt) {
  Race race(6);
  std::vector<RankEntry> entries = {race.entry("k", "A=1", 100.1, 1e-4),
                                    race.entry("k", "A=2", 100, 1e-4)};
  entries[0].energy_j = 0.2;
  entries[1].energy_j = 0.1;
  entries[1].tie_break.spill_bytes = 8;
  EXPECT_EQ(winner(rank_entries(entries)), "A=1");
  EXPECT_EQ(winner(rank_entries(entries, 0, objective("time; energy"))), "A=2");
  EXPECT_EQ(front_of(entries, "time; energy"), "2");
  entries[1].energy_j = 0.1999;
  EXPECT_EQ(winner(rank_entries(entries, 0, objective("time; energy"))), "A=1");
}

TEST(ParetoList, SaysWhatEachObjectiveIs) {
  Race race(7);
  RankRecord rank;
  rank.objective = objective("time; maximize 6400 / registers");
  rank.entries = rank_entries(with_registers(race), 0, rank.objective);
  const std::vector<FrontEntry> front = pareto_front(rank);
  ASSERT_EQ(front.size(), 2u);
  EXPECT_TRUE(front[0].entry->winner);
  EXPECT_TRUE(same(front[0].achieved[0].ratio_to_winner, {1, 1, 1}));
  EXPECT_EQ(front[0].achieved[1].value.value, 50);
  EXPECT_EQ(front[1].achieved[0].objective, "time");
  EXPECT_NEAR(front[1].achieved[0].value.value, 101, 1);
  EXPECT_LT(front[1].achieved[0].value.low, front[1].achieved[0].value.high);
  EXPECT_NEAR(front[1].achieved[0].ratio_to_winner.value, 100 / 97.0, 0.01);
  EXPECT_LT(front[1].achieved[0].ratio_to_winner.low, front[1].achieved[0].ratio_to_winner.value);
  EXPECT_TRUE(same(front[1].achieved[1].value, {100, 100, 100}));
  EXPECT_TRUE(same(front[1].achieved[1].ratio_to_winner, {2, 2, 2}));
}

}  // namespace
}  // namespace assay
