#include "report/tuned_table.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/example_rows.h"
#include "report/golden.h"

namespace assay {
namespace {

using example::problem;
using ::testing::HasSubstr;
using ::testing::Not;

/// One of each: measured here, recorded elsewhere, tied, screened only.
std::vector<TunedTable> winners() {
  RankRow recorded = example::rank(problem(4096, 4096), "gemm_wgmma",
                                   "BLOCK_M=128,STAGES=4,SCHEDULE=grouped", 176'100, 171'000);
  recorded.provenance = "recorded on NVIDIA H200, 2026-11-20";
  RankRow tied =
      example::rank(problem(16, 4096), "gemm_mma", "BLOCK_M=64,STAGES=3", 11'900, 14'900);
  tied.record.entries[1].tied = true;
  return tuned_tables(
      {recorded, tied},
      {example::trial(problem(64, 4096), "gemm_mma", "BLOCK_M=64,STAGES=4", 15'000)}, {},
      Screened::show);
}

TEST(BestText, MatchesGolden) { expect_golden("best.txt", best_text(winners(), {})); }

TEST(BestText, MatchesGoldenWithTiesAndWholeNames) {
  expect_golden("best_wide.txt", best_text(winners(), {.wide = true, .ties = true}));
}

TEST(BestText, ShowsTheNoiseFloorOfARerankThatHasOne) {
  RankRow row = example::rank(problem(16, 4096), "gemm_mma", "BLOCK_M=64", 11'900, 14'900);
  row.record.noise = NoiseFloor{"gemm_mma", "BLOCK_M=64", {11'900}, {1.001, 0.999, 1.0025}};
  const std::vector<TunedTable> tables = tuned_tables({row}, {}, {}, Screened::hide);
  EXPECT_THAT(best_text(tables, {}), HasSubstr("0.25 %"));
  const auto json = nlohmann::json::parse(best_json(tables));
  EXPECT_NEAR(json["best"][0]["noise_ratio"].get<double>(), 0.0025, 1e-9);
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

  EXPECT_TRUE(nlohmann::json::parse(best_json(tables({})))["best"][0]["verified"].is_null());
  const auto json =
      nlohmann::json::parse(best_json(tables({passed, failed})))["best"][0]["verified"];
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
  return tuned_tables({frugal, second, first, balanced}, {}, {}, Screened::hide);
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
  return tuned_tables(rows, {}, {}, Screened::hide);
}

TEST(BestText, MatchesGoldenWithAParetoListAndAMetric) {
  expect_golden("best_metric.txt", best_text(metric_tables(), {}));
}

TEST(BestJson, HasTheParetoListWithItsIntervals) {
  const auto best = nlohmann::json::parse(best_json(metric_tables()))["best"];
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

TEST(BestJson, TellsTheObjectivesApart) {
  const auto best = nlohmann::json::parse(best_json(energy_tables()))["best"];
  ASSERT_EQ(best.size(), 4U);
  EXPECT_EQ(best[0]["objective"], "time");
  EXPECT_EQ(best[0]["roofline_ratio"], 0.75);
  EXPECT_TRUE(best[0]["energy_j"].is_null());
  EXPECT_TRUE(best[1]["roofline_ratio"].is_null());
  EXPECT_EQ(best[2]["objective"], "energy");
  EXPECT_EQ(best[2]["energy_j"], 0.00312);
  EXPECT_EQ(best[3]["objective"], "edp");
}

// Each of 21 rows once ended with the same "recorded on NVIDIA H200, 2026-11-26".
TEST(BestText, SaysOnceWhereAllWasMeasured) {
  const auto tables =
      tuned_tables({}, {example::trial(problem(64, 4096), "gemm_mma", "BLOCK_M=64", 15'000)}, {},
                   Screened::show);
  const std::string text = best_text(tables, {});
  EXPECT_THAT(text, HasSubstr("protocol cold, measured here, 2026-11-21\n"));
  EXPECT_THAT(text, HasSubstr("  screened only, not re-ranked\n"));
  EXPECT_THAT(best_text(energy_tables(), {}), Not(HasSubstr("re-ranked")));
}

TEST(BestText, FitsTheTerminal) {
  for (const std::size_t columns : {50, 80, 120}) {
    BestLayout layout{.wide = true, .ties = true, .terminal = {columns}};
    for (const auto& tables : {winners(), energy_tables(), metric_tables()}) {
      std::istringstream lines(best_text(tables, layout));
      for (std::string line; std::getline(lines, line);) EXPECT_LE(width_of(line), columns) << line;
    }
  }
}

TEST(BestText, WithoutABaselineThereIsNoColumnForIt) {
  const auto tables =
      tuned_tables({}, {example::trial(problem(64, 4096), "gemm_mma", "BLOCK_M=64", 15'000)}, {},
                   Screened::show);
  EXPECT_THAT(best_text(tables, {}), Not(HasSubstr("vs ")));
}

// With fewer than six samples the interval is open; no bound may be made up.
TEST(BestText, AnOpenIntervalIsADash) {
  TrialRow row = example::trial(problem(64, 4096), "gemm_mma", "BLOCK_M=64", 15'000);
  row.record.outcome.timing->ci_low_ns = -std::numeric_limits<double>::infinity();
  row.record.outcome.timing->ci_high_ns = std::numeric_limits<double>::infinity();
  const auto tables = tuned_tables({}, {row}, {}, Screened::show);
  EXPECT_THAT(best_text(tables, {}), HasSubstr("15.00 us              -"));
  EXPECT_TRUE(nlohmann::json::parse(best_json(tables))["best"][0]["time_low_ns"].is_null());
}

TEST(BestJson, HoldsOneObjectAnEntry) {
  const auto json = nlohmann::json::parse(best_json(winners()));
  ASSERT_EQ(json["best"].size(), 3U);
  const auto& entry = json["best"][0];
  EXPECT_EQ(entry["op"], "gemm_bf16");
  EXPECT_EQ(entry["problem"]["M"], 16);
  EXPECT_EQ(entry["config"]["STAGES"], 3);
  EXPECT_EQ(entry["ties"][0]["config"]["BLOCK_M"], 32);
  EXPECT_EQ(entry["baseline"]["name"], "cublaslt_best");
  EXPECT_EQ(json["best"][2]["provenance"], "recorded on NVIDIA H200, 2026-11-20");
  EXPECT_FALSE(json["best"][1]["reranked"]);
}

}  // namespace
}  // namespace assay
