#include "report/tuned_table.h"

#include <gmock/gmock.h>

#include "report/example_rows.h"

namespace assay {
namespace {

using example::problem;
using ::testing::SizeIs;

constexpr auto kShow = Screened::show;

TEST(TunedTables, NothingGivesNothing) { EXPECT_TRUE(tuned_tables({}, {}, {}, kShow).empty()); }

TEST(TunedTables, ARankDecidesEvenWhereScreeningSawAFasterSample) {
  const auto tables =
      tuned_tables({example::rank(problem(16, 64), "gemm_mma", "BLOCK_M=64,STAGES=3", 1000, 900)},
                   {example::trial(problem(16, 64), "gemm_mma", "BLOCK_M=64,STAGES=3", 1000),
                    example::trial(problem(16, 64), "gemm_mma", "BLOCK_M=128,STAGES=3", 500)},
                   {}, kShow);
  ASSERT_THAT(tables, SizeIs(1));
  ASSERT_THAT(tables[0].entries, SizeIs(1));
  const TunedRow& entry = tables[0].entries[0];
  EXPECT_TRUE(entry.reranked);
  EXPECT_EQ(to_text(entry.best.config), "BLOCK_M=64,STAGES=3");
  EXPECT_EQ(entry.time_ns.value, 1000);
  EXPECT_LT(entry.time_ns.low, 1000);
  EXPECT_EQ(entry.baseline, "cublaslt_best");
  EXPECT_EQ(entry.baseline_ns, 900);
  EXPECT_EQ(entry.runner_up_ratio, 1.05);
  EXPECT_EQ(entry.toolchain.nvrtc, "13.0");
  EXPECT_TRUE(entry.ties.empty());
}

// The last check refused the fastest after it had left the others behind. So nothing won, and the
// refused one was shown as the fastest of the screening.
TEST(TunedTables, WhatAVerdictFoundToBeWrongIsNotShownAsScreened) {
  RankRow row = example::rank(problem(16, 64), "gemm_mma", "BLOCK_M=128,STAGES=3", 500, 900);
  row.record.entries = {row.record.entries[0]};
  row.record.entries[0].winner = false;
  row.record.entries[0].failure = "C[0] is 1, expected 2";
  const auto tables =
      tuned_tables({row},
                   {example::trial(problem(16, 64), "gemm_mma", "BLOCK_M=64,STAGES=3", 1000),
                    example::trial(problem(16, 64), "gemm_mma", "BLOCK_M=128,STAGES=3", 500)},
                   {}, kShow);
  ASSERT_THAT(tables, SizeIs(1));
  ASSERT_THAT(tables[0].entries, SizeIs(1));
  EXPECT_EQ(to_text(tables[0].entries[0].best.config), "BLOCK_M=64,STAGES=3");
  EXPECT_FALSE(tables[0].entries[0].reranked);
}

// A cover of many problems took configurations that only a screening had checked, and those that
// had been refused for another problem.
TEST(KeepChecked, LeavesWhatARerankCheckedAndNothingRefused) {
  const auto trial = [](const char* config) {
    return example::trial(problem(32, 64), "gemm_mma", config, 1000);
  };
  RankRow row = example::rank(problem(16, 64), "gemm_mma", "BLOCK_M=16", 1000, 900);
  const RankEntry winner = row.record.entries[0];
  const auto add = [&](const char* config, const char* failure, bool eliminated) {
    RankEntry& entry = row.record.entries.emplace_back(winner);
    entry.config = config;
    entry.winner = false;
    entry.failure = failure;
    entry.eliminated = eliminated;
  };
  add("BLOCK_M=32", "", true);
  add("BLOCK_M=64", "C[0] is 1, expected 2", false);
  add("BLOCK_M=128", "", false);
  std::vector<TrialRow> trials = {trial("BLOCK_M=16"), trial("BLOCK_M=32"), trial("BLOCK_M=64"),
                                  trial("BLOCK_M=128"), trial("BLOCK_M=256")};
  keep_checked(trials, {row}, {trial("BLOCK_M=128")});
  ASSERT_THAT(trials, SizeIs(1));
  EXPECT_EQ(to_text(trials[0].record.config), "BLOCK_M=16");
}

TEST(TunedTables, NamesTheTiesAndNotTheWinnerAmongThem) {
  RankRow row = example::rank(problem(16, 64), "gemm_mma", "BLOCK_M=64,STAGES=3", 1000, 900);
  row.record.entries[1].tied = true;
  const auto tables = tuned_tables({row}, {}, {}, kShow);
  ASSERT_THAT(tables[0].entries[0].ties, SizeIs(1));
  EXPECT_EQ(to_text(tables[0].entries[0].ties[0].config), "BLOCK_M=32,STAGES=9");
  EXPECT_EQ(tables[0].entries[0].runner_up_ratio, 0);
}

TEST(TunedTables, AFailedEntryIsNeitherTieNorRunnerUp) {
  RankRow row = example::rank(problem(16, 64), "gemm_mma", "BLOCK_M=64,STAGES=3", 1000, 900);
  row.record.entries[1].tied = true;
  row.record.entries[1].failure = "mismatch at [0, 1]";
  const auto tables = tuned_tables({row}, {}, {}, kShow);
  EXPECT_TRUE(tables[0].entries[0].ties.empty());
  EXPECT_EQ(tables[0].entries[0].runner_up_ratio, 0);
}

TEST(TunedTables, ScreenedEntriesComeFromTheFastestTrialAndOnlyWhenAsked) {
  const std::vector<TrialRow> trials{
      example::trial(problem(16, 64), "gemm_mma", "BLOCK_M=64", 1000),
      example::trial(problem(16, 64), "gemm_mma", "BLOCK_M=128", 800),
      example::failure(problem(16, 64), "BLOCK_M=256", Status::correctness, "mismatch", "wrong")};
  BaselineRow baseline;
  baseline.device = example::h200();
  baseline.record.op = "gemm_bf16";
  baseline.record.problem = problem(16, 64);
  baseline.record.name = "cublaslt_first";
  baseline.record.timing.median_ns = 400;
  EXPECT_TRUE(tuned_tables({}, trials, {baseline}, Screened::hide).empty());
  const auto tables = tuned_tables({}, trials, {baseline}, kShow);
  ASSERT_THAT(tables, SizeIs(1));
  const TunedRow& entry = tables[0].entries[0];
  EXPECT_FALSE(entry.reranked);
  EXPECT_EQ(to_text(entry.best.config), "BLOCK_M=128");
  EXPECT_EQ(entry.baseline, "cublaslt_first");
  EXPECT_DOUBLE_EQ(entry.speedup.value, 0.5);
}

TEST(TunedTables, ProtocolsAndDevicesAreNeverMixed) {
  RankRow cold = example::rank(problem(16, 64), "gemm_mma", "BLOCK_M=64", 1000, 900);
  RankRow sustained = cold;
  sustained.record.protocol.name = "sustained";
  RankRow other = cold;
  other.device.name = "NVIDIA A100";
  EXPECT_THAT(tuned_tables({cold, sustained, other}, {}, {}, kShow), SizeIs(3));
}

TEST(TunedTables, ObjectivesAreSeparateTablesAndEachWinnerKnowsItsSource) {
  RankRow fast = example::rank(problem(16, 64), "gemm_mma", "BLOCK_M=64", 1000, 900);
  RankRow frugal = example::rank(problem(16, 64), "gemm_wgmma", "BLOCK_M=128", 1100, 900);
  frugal.record.objective = Objective::energy;
  const auto tables =
      tuned_tables({frugal, fast},
                   {example::trial(problem(16, 64), "gemm_mma", "BLOCK_M=64", 1000),
                    example::trial(problem(16, 64), "gemm_wgmma", "BLOCK_M=128", 1100)},
                   {}, kShow);
  ASSERT_THAT(tables, SizeIs(2));
  EXPECT_EQ(tables[0].objective, Objective::time);
  EXPECT_EQ(tables[0].entries.at(0).version.source_hash, "source-gemm_mma");
  EXPECT_EQ(tables[1].objective, Objective::energy);
  EXPECT_EQ(tables[1].entries.at(0).version.source_hash, "source-gemm_wgmma");
  EXPECT_EQ(conditions_text(tables[0]), "protocol cold");
  EXPECT_EQ(conditions_text(tables[1]), "protocol cold, least energy");
}

// There is a verdict by energy. That the screening was faster elsewhere must not appear as a second
// answer.
TEST(TunedTables, TheScreeningShowsOnlyProblemsWithoutAnyVerdict) {
  RankRow frugal = example::rank(problem(16, 64), "gemm_mma", "BLOCK_M=64", 1000, 900);
  frugal.record.objective = Objective::energy;
  const auto tables =
      tuned_tables({frugal},
                   {example::trial(problem(16, 64), "gemm_mma", "BLOCK_M=128", 500),
                    example::trial(problem(32, 64), "gemm_mma", "BLOCK_M=128", 700)},
                   {}, kShow);
  ASSERT_THAT(tables, SizeIs(2));
  ASSERT_THAT(tables[0].entries, SizeIs(1));
  EXPECT_EQ(tables[0].entries[0].problem, problem(32, 64));
  EXPECT_FALSE(tables[0].entries[0].reranked);
  EXPECT_THAT(tables[1].entries, SizeIs(1));
}

TEST(TunedTables, AnEntryHasTheWinnersRooflineAndEnergyAndTheBaselinesCycles) {
  RankRow row = example::rank(problem(16, 64), "gemm_mma", "BLOCK_M=64", 1000, 900);
  row.record.entries[0].roofline_ns = 800;
  row.record.entries[0].energy_j = 0.25;
  row.record.entries[2].cycles_ratio_to_best = {0.95, 0.94, 0.96};
  const TunedRow entry = tuned_tables({row}, {}, {}, kShow)[0].entries[0];
  EXPECT_EQ(entry.roofline_ratio(), 0.8);
  EXPECT_EQ(entry.energy_j, 0.25);
  EXPECT_EQ(entry.cycles_speedup.value, 0.95);
  EXPECT_EQ(entry.cycles_speedup.high, 0.96);

  TrialRow screened = example::trial(problem(32, 64), "gemm_mma", "BLOCK_M=64", 1000);
  EXPECT_EQ(tuned_tables({}, {screened}, {}, kShow)[0].entries[0].roofline_ratio(), 0);
  screened.record.outcome.timing->roofline_ns = 500;
  EXPECT_EQ(tuned_tables({}, {screened}, {}, kShow)[0].entries[0].roofline_ratio(), 0.5);
}

// An entry that dropped out after the first rounds may have nothing to compare.
TEST(TunedTables, AnEntryWithoutARatioIsNoRunnerUp) {
  RankRow row = example::rank(problem(16, 64), "gemm_mma", "BLOCK_M=64", 1000, 900);
  row.record.entries.push_back(example::entry("gemm_mma", "BLOCK_M=16", 2000, 2));
  row.record.entries.back().eliminated = true;
  row.record.entries.back().ratio_to_best = {};
  EXPECT_EQ(tuned_tables({row}, {}, {}, kShow)[0].entries[0].runner_up_ratio, 1.05);
}

TEST(TunedTables, ProblemsStandInNumericOrder) {
  std::vector<RankRow> rows;
  for (std::int64_t m : {1024, 16, 128}) {
    rows.push_back(example::rank(problem(m, 64), "gemm_mma", "BLOCK_M=64", 1000, 900));
  }
  const auto tables = tuned_tables(rows, {}, {}, kShow);
  std::vector<std::int64_t> order;
  for (const TunedRow& entry : tables[0].entries)
    order.push_back(std::get<std::int64_t>(entry.problem[0].second));
  EXPECT_THAT(order, testing::ElementsAre(16, 128, 1024));
}

TEST(UniqueProblems, PrefersWhatWasMeasuredHere) {
  RankRow here = example::rank(problem(16, 64), "gemm_mma", "BLOCK_M=64", 1000, 900);
  RankRow recorded = example::rank(problem(16, 64), "gemm_mma", "BLOCK_M=128", 900, 900);
  recorded.provenance = "recorded on NVIDIA H200, 2026-12-01";
  recorded.record.finished_at = "2026-12-01T00:00:00Z";
  const auto tables = tuned_tables({here, recorded}, {}, {}, kShow);
  ASSERT_THAT(tables, SizeIs(1));
  ASSERT_THAT(tables[0].entries, SizeIs(2));
  const TunedTable unique = unique_problems(tables[0], {});
  ASSERT_THAT(unique.entries, SizeIs(1));
  EXPECT_EQ(unique.entries[0].provenance, "");
}

// Each winner is best on its own problem. The second loses least on the other's.
TEST(TunedTables, TheFallbackIsTheBestCompromise) {
  const Problem small = problem(16, 64), large = problem(4096, 64);
  const auto tables = tuned_tables({example::rank(small, "gemm_mma", "BLOCK_M=64", 100, 90),
                                    example::rank(large, "gemm_mma", "BLOCK_M=128", 1000, 900)},
                                   {example::trial(small, "gemm_mma", "BLOCK_M=64", 100),
                                    example::trial(small, "gemm_mma", "BLOCK_M=128", 110),
                                    example::trial(large, "gemm_mma", "BLOCK_M=64", 3000),
                                    example::trial(large, "gemm_mma", "BLOCK_M=128", 1000)},
                                   {}, kShow);
  EXPECT_EQ(tables[0].fallback, 1U);
}

TEST(TunedTables, TheFallbackIsTheFirstWhereNoWinnerWasMeasuredEverywhere) {
  const auto tables =
      tuned_tables({example::rank(problem(16, 64), "gemm_mma", "BLOCK_M=64", 100, 90),
                    example::rank(problem(32, 64), "gemm_mma", "BLOCK_M=128", 1000, 900)},
                   {example::trial(problem(32, 64), "gemm_mma", "BLOCK_M=128", 1000)}, {}, kShow);
  EXPECT_EQ(tables[0].fallback, 0U);
}

}  // namespace
}  // namespace assay
