#include "report/tuned_table.h"

#include <nlohmann/json.hpp>

#include "matchers.h"
#include "report/example_rows.h"
#include "report/golden.h"

namespace assay {
namespace {

using example::problem;

RankRow small_rank(const std::string& config, double median_ns = 1000,
                   const std::string& kernel = "gemm_mma") {
  return example::rank(problem(16, 64), kernel, config, median_ns, 900);
}

TrialRow small_trial(const std::string& config, double median_ns, std::int64_t m = 16) {
  return example::trial(problem(m, 64), "gemm_mma", config, median_ns);
}

/// Of the only row of the only table.
TunedRow only_entry(const std::vector<RankRow>& ranks, const std::vector<TrialRow>& trials = {}) {
  const auto tables = tuned_tables(ranks, trials);
  EXPECT_THAT(tables, SizeIs(1));
  EXPECT_THAT(tables.at(0).entries, SizeIs(1));
  return tables.at(0).entries.at(0);
}

TEST(TunedTables, ARankDecidesEvenWhereScreeningSawAFasterSample) {
  const TunedRow entry = only_entry(
      {small_rank("BLOCK_M=64,STAGES=3")},
      {small_trial("BLOCK_M=64,STAGES=3", 1000), small_trial("BLOCK_M=128,STAGES=3", 500)});
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
  RankRow row = small_rank("BLOCK_M=128,STAGES=3", 500);
  row.record.entries.resize(1);
  row.record.entries[0].winner = false;
  row.record.entries[0].failure = "C[0] is 1, expected 2";
  const TunedRow entry = only_entry(
      {row}, {small_trial("BLOCK_M=64,STAGES=3", 1000), small_trial("BLOCK_M=128,STAGES=3", 500)});
  EXPECT_EQ(to_text(entry.best.config), "BLOCK_M=64,STAGES=3");
  EXPECT_FALSE(entry.reranked);
}

// A cover of many problems took configurations that only a screening had checked, and those that
// had been refused for another problem.
TEST(KeepChecked, LeavesWhatARerankCheckedAndNothingRefused) {
  const auto trial = [](const char* config) { return small_trial(config, 1000, 32); };
  RankRow row = small_rank("BLOCK_M=16");
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

TEST(TunedTables, AFailedEntryIsNeitherTieNorRunnerUp) {
  RankRow row = small_rank("BLOCK_M=64,STAGES=3");
  row.record.entries[1].tied = true;
  row.record.entries[1].failure = "mismatch at [0, 1]";
  EXPECT_TRUE(only_entry({row}).ties.empty());
  EXPECT_EQ(only_entry({row}).runner_up_ratio, 0);
}

TEST(TunedTables, ScreenedEntriesComeFromTheFastestTrialAndOnlyWhenAsked) {
  const std::vector<TrialRow> trials{
      small_trial("BLOCK_M=64", 1000), small_trial("BLOCK_M=128", 800),
      example::failure(problem(16, 64), "BLOCK_M=256", Status::correctness, "mismatch", "wrong")};
  BaselineRow baseline;
  baseline.device = example::h200();
  baseline.record.op = "gemm_bf16";
  baseline.record.problem = problem(16, 64);
  baseline.record.name = "cublaslt_first";
  baseline.record.timing.median_ns = 400;
  EXPECT_TRUE(tuned_tables({}, trials, {baseline}, Screened::hide).empty());
  const auto tables = tuned_tables({}, trials, {baseline});
  ASSERT_THAT(tables, SizeIs(1));
  const TunedRow& entry = tables[0].entries[0];
  EXPECT_FALSE(entry.reranked);
  EXPECT_EQ(to_text(entry.best.config), "BLOCK_M=128");
  EXPECT_EQ(entry.baseline, "cublaslt_first");
  EXPECT_DOUBLE_EQ(entry.speedup.value, 0.5);
}

TEST(TunedTables, ProtocolsAndDevicesAreNeverMixed) {
  RankRow cold = small_rank("BLOCK_M=64");
  RankRow sustained = cold;
  sustained.record.protocol.name = "sustained";
  RankRow other = cold;
  other.device.name = "NVIDIA A100";
  EXPECT_THAT(tuned_tables({cold, sustained, other}), SizeIs(3));
}

TEST(TunedTables, ObjectivesAreSeparateTablesAndEachWinnerKnowsItsSource) {
  RankRow frugal = small_rank("BLOCK_M=128", 1100, "gemm_wgmma");
  frugal.record.objective = Objective::energy;
  const auto tables =
      tuned_tables({frugal, small_rank("BLOCK_M=64")},
                   {small_trial("BLOCK_M=64", 1000),
                    example::trial(problem(16, 64), "gemm_wgmma", "BLOCK_M=128", 1100)});
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
  RankRow frugal = small_rank("BLOCK_M=64");
  frugal.record.objective = Objective::energy;
  const auto tables = tuned_tables(
      {frugal}, {small_trial("BLOCK_M=128", 500), small_trial("BLOCK_M=128", 700, 32)});
  ASSERT_THAT(tables, SizeIs(2));
  ASSERT_THAT(tables[0].entries, SizeIs(1));
  EXPECT_EQ(tables[0].entries[0].problem, problem(32, 64));
  EXPECT_FALSE(tables[0].entries[0].reranked);
  EXPECT_THAT(tables[1].entries, SizeIs(1));
}

TEST(TunedTables, AnEntryHasTheWinnersRooflineAndEnergyAndTheBaselinesCycles) {
  RankRow row = small_rank("BLOCK_M=64");
  row.record.entries[0].roofline_ns = 800;
  row.record.entries[0].energy_j = 0.25;
  row.record.entries[2].cycles_ratio_to_best = {0.95, 0.94, 0.96};
  const TunedRow entry = only_entry({row});
  EXPECT_EQ(entry.roofline_ratio(), 0.8);
  EXPECT_EQ(entry.energy_j, 0.25);
  EXPECT_EQ(entry.cycles_speedup.value, 0.95);
  EXPECT_EQ(entry.cycles_speedup.high, 0.96);

  TrialRow screened = small_trial("BLOCK_M=64", 1000, 32);
  EXPECT_EQ(only_entry({}, {screened}).roofline_ratio(), 0);
  screened.record.outcome.timing->roofline_ns = 500;
  EXPECT_EQ(only_entry({}, {screened}).roofline_ratio(), 0.5);
}

// An entry that dropped out after the first rounds may have nothing to compare.
TEST(TunedTables, AnEntryWithoutARatioIsNoRunnerUp) {
  RankRow row = small_rank("BLOCK_M=64");
  row.record.entries.push_back(example::entry("gemm_mma", "BLOCK_M=16", 2000, 2));
  row.record.entries.back().eliminated = true;
  row.record.entries.back().ratio_to_best = {};
  EXPECT_EQ(only_entry({row}).runner_up_ratio, 1.05);
}

TEST(UniqueProblems, PrefersWhatWasMeasuredHere) {
  RankRow recorded = small_rank("BLOCK_M=128", 900);
  recorded.provenance = "recorded on NVIDIA H200, 2026-12-01";
  recorded.record.finished_at = "2026-12-01T00:00:00Z";
  const auto tables = tuned_tables({small_rank("BLOCK_M=64"), recorded});
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
                                    example::trial(large, "gemm_mma", "BLOCK_M=128", 1000)});
  EXPECT_EQ(tables[0].fallback, 1U);
}

TEST(TunedTables, TheFallbackIsTheFirstWhereNoWinnerWasMeasuredEverywhere) {
  const auto tables =
      tuned_tables({example::rank(problem(16, 64), "gemm_mma", "BLOCK_M=64", 100, 90),
                    example::rank(problem(32, 64), "gemm_mma", "BLOCK_M=128", 1000, 900)},
                   {small_trial("BLOCK_M=128", 1000, 32)});
  EXPECT_EQ(tables[0].fallback, 0U);
}

/// One of each: measured here, recorded elsewhere, tied, screened only.
std::vector<TunedTable> winners() {
  RankRow recorded = example::rank(problem(4096, 4096), "gemm_wgmma",
                                   "BLOCK_M=128,STAGES=4,SCHEDULE=grouped", 176'100, 171'000);
  recorded.provenance = "recorded on NVIDIA H200, 2026-11-20";
  RankRow tied =
      example::rank(problem(16, 4096), "gemm_mma", "BLOCK_M=64,STAGES=3", 11'900, 14'900);
  tied.record.entries[1].tied = true;
  return tuned_tables({recorded, tied}, {example::trial(problem(64, 4096), "gemm_mma",
                                                        "BLOCK_M=64,STAGES=4", 15'000)});
}

TEST(BestText, MatchesGolden) { expect_golden("best.txt", best_text(winners(), {})); }

TEST(BestText, MatchesGoldenWithTiesAndWholeNames) {
  expect_golden("best_wide.txt", best_text(winners(), {.wide = true, .ties = true}));
}

TEST(BestText, ShowsTheNoiseFloorOfARerankThatHasOne) {
  RankRow row = example::rank(problem(16, 4096), "gemm_mma", "BLOCK_M=64", 11'900, 14'900);
  row.record.noise = NoiseFloor{"gemm_mma", "BLOCK_M=64", {11'900}, {1.001, 0.999, 1.0025}};
  const std::vector<TunedTable> tables = tuned_tables({row});
  EXPECT_THAT(best_text(tables, {}), HasSubstr("0.25 %"));
  EXPECT_NEAR(best_json(tables)[0]["noise_ratio"].get<double>(), 0.0025, 1e-9);
  EXPECT_THAT(best_text(winners(), {}), Not(HasSubstr("noise")));
  EXPECT_THAT(best_text(winners(), {}), Not(HasSubstr("roofline")));
}

TEST(BestText, SaysWhenAWinnerWasVerifiedOrWhatFailed) {
  const auto tables = [](std::vector<VerificationCheck> checks) {
    TrialRow winner = example::trial(problem(16, 4096), "gemm_mma", "BLOCK_M=64", 11'900);
    if (!checks.empty()) winner.record.verification = {checks, {}, "2026-11-22T10:00:00Z"};
    TrialRow other = example::trial(problem(16, 4096), "gemm_mma", "BLOCK_M=32", 11'900);
    other.record.verification = {{{"data", CheckResult::failed}}, {}, "2026-11-22T10:00:00Z"};
    return tuned_tables(
        {example::rank(problem(16, 4096), "gemm_mma", "BLOCK_M=64", 11'900, 14'900)},
        {winner, other}, {}, Screened::hide);
  };
  const VerificationCheck passed{"data"}, skipped{"memcheck", CheckResult::skipped, "not there"},
      failed{"streams", CheckResult::failed, "wrong"};
  EXPECT_THAT(best_text(tables({}), {}), Not(HasSubstr("verified")));
  EXPECT_THAT(best_text(tables({passed}), {}), HasSubstr(" 2026-11-22  "));
  EXPECT_THAT(best_text(tables({passed, skipped}), {}), HasSubstr("2026-11-22, 1 of 2 checks"));
  EXPECT_THAT(best_text(tables({passed, failed}), {}), HasSubstr("no: streams"));

  EXPECT_TRUE(best_json(tables({}))[0]["verified"].is_null());
  const auto json = best_json(tables({passed, failed}))[0]["verified"];
  EXPECT_EQ(json["passed"], false);
  EXPECT_EQ(json["checks"][1]["message"], "wrong");
  EXPECT_EQ(json["verified_at"], "2026-11-22T10:00:00Z");
}

/// Winners by time and, of the first problem, by energy; not every figure is known everywhere.
std::vector<TunedTable> energy_tables() {
  RankRow first = example::rank(problem(16, 4096), "gemm_mma", "BLOCK_M=64", 12'000, 14'900);
  first.record.entries[0].roofline_ns = 9'000;
  RankRow second = example::rank(problem(64, 4096), "gemm_mma", "BLOCK_M=64", 15'000, 14'900);
  RankRow frugal = first;
  frugal.record.objective = Objective::energy;
  frugal.record.entries[0].energy_j = 0.00312;
  RankRow balanced = frugal;
  balanced.record.objective = Objective::edp;
  return tuned_tables({frugal, second, first, balanced});
}

TEST(BestText, MatchesGoldenWithEnergyAndRoofline) {
  expect_golden("best_energy.txt", best_text(energy_tables(), {}));
}

/// By time and registers, then by a metric of both: three configurations, of which one is no good.
std::vector<TunedTable> metric_tables() {
  RankRow row = example::rank(problem(16, 4096), "gemm_mma", "BLOCK_M=64,STAGES=4", 12'000, 14'900);
  const std::vector<double> samples_ns = row.record.entries[0].samples_ns;
  const auto entry = [&](const std::string& config, double ratio, std::int64_t registers) {
    RankEntry one{"gemm_mma", config, samples_ns};
    for (double& sample_ns : one.samples_ns) sample_ns *= ratio;
    one.figures = {{"registers", registers}};
    return one;
  };
  const std::vector<RankEntry> entries = {entry("BLOCK_M=64,STAGES=4", 1, 128),
                                          entry("BLOCK_M=32,STAGES=4", 1.2, 64),
                                          entry("BLOCK_M=32,STAGES=9", 1.4, 80)};
  std::vector<RankRow> rows;
  for (const char* objective : {"time; minimize registers", "minimize time_ns * registers"}) {
    row.record.objective = parse_objective(objective).value();
    row.record.entries = rank_entries(entries, 0, row.record.objective);
    rows.push_back(row);
  }
  return tuned_tables(rows);
}

TEST(BestText, MatchesGoldenWithAParetoListAndAMetric) {
  expect_golden("best_metric.txt", best_text(metric_tables(), {}));
}

TEST(BestJson, HasTheParetoListWithItsIntervals) {
  const auto best = best_json(metric_tables());
  ASSERT_EQ(best.size(), 2U);
  EXPECT_EQ(best[0]["objective"], "minimize time_ns * registers");
  EXPECT_EQ(best[0]["config"]["BLOCK_M"], 32);
  ASSERT_EQ(best[0]["front"].size(), 1U);
  EXPECT_EQ(best[0]["front"][0]["objectives"][0]["objective"], "minimize time_ns * registers");
  EXPECT_DOUBLE_EQ(best[0]["front"][0]["objectives"][0]["value"], 12'000 * 1.2 * 64);

  EXPECT_EQ(best[1]["objective"], "time; minimize registers");
  EXPECT_EQ(best[1]["config"]["BLOCK_M"], 64);
  ASSERT_EQ(best[1]["front"].size(), 2U);
  const auto& second = best[1]["front"][1];
  EXPECT_EQ(second["config"]["BLOCK_M"], 32);
  EXPECT_NEAR(second["objectives"][0]["ratio_to_winner"], 1.2, 1e-9);
  EXPECT_LE(second["objectives"][0]["ratio_low"], second["objectives"][0]["ratio_high"]);
  EXPECT_EQ(second["objectives"][1]["value"], 64);
  EXPECT_EQ(second["objectives"][1]["ratio_to_winner"], 0.5);
}

TrialRow screened_trial() {
  return example::trial(problem(64, 4096), "gemm_mma", "BLOCK_M=64", 15'000);
}

// Each of 21 rows once ended with the same "recorded on NVIDIA H200, 2026-11-26".
TEST(BestText, SaysOnceWhereAllWasMeasuredAndHasNoColumnForBaselinesThatAreNot) {
  const std::string text = best_text(tuned_tables({}, {screened_trial()}), {});
  EXPECT_THAT(text, HasSubstr("protocol cold, measured here, 2026-11-21\n"));
  EXPECT_THAT(text, HasSubstr("  screened only, not re-ranked\n"));
  EXPECT_THAT(text, Not(HasSubstr("vs ")));
  EXPECT_THAT(best_text(energy_tables(), {}), Not(HasSubstr("re-ranked")));
}

TEST(BestText, FitsTheTerminal) {
  for (const std::size_t columns : {50, 80, 120}) {
    BestLayout layout{.wide = true, .ties = true, .terminal = {columns}};
    for (const auto& tables : {winners(), energy_tables(), metric_tables()}) {
      expect_fits(best_text(tables, layout), columns);
    }
  }
}

// With fewer than six samples the interval is open; no bound may be made up.
TEST(BestText, AnOpenIntervalIsADash) {
  TrialRow row = screened_trial();
  row.record.outcome.timing->ci_low_ns = -std::numeric_limits<double>::infinity();
  row.record.outcome.timing->ci_high_ns = std::numeric_limits<double>::infinity();
  const auto tables = tuned_tables({}, {row});
  EXPECT_THAT(best_text(tables, {}), HasSubstr("15.00 us              -"));
  EXPECT_TRUE(best_json(tables)[0]["time_low_ns"].is_null());
}

TEST(BestJson, HoldsOneObjectAnEntry) {
  const auto best = best_json(winners());
  ASSERT_EQ(best.size(), 3U);
  const auto& entry = best[0];
  EXPECT_EQ(entry["op"], "gemm_bf16");
  EXPECT_EQ(entry["problem"]["M"], 16);
  EXPECT_EQ(entry["config"]["STAGES"], 3);
  EXPECT_EQ(entry["ties"][0]["config"]["BLOCK_M"], 32);
  EXPECT_EQ(entry["baseline"]["name"], "cublaslt_best");
  EXPECT_EQ(best[2]["provenance"], "recorded on NVIDIA H200, 2026-11-20");
  EXPECT_FALSE(best[1]["reranked"]);
}

}  // namespace
}  // namespace assay
