#include "report/history.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <random>

#include "matchers.h"
#include "report/example_rows.h"

namespace assay {
namespace {

/// What the run of one day found for a problem, with a spread of 0.5 %.
Results results_of(int day, double best_ns, const std::string& driver = "580.1",
                   double baseline_ns = 1200) {
  std::mt19937_64 random(static_cast<std::uint64_t>(day));
  Results results;
  const Problem problem = example::problem(16, 64);
  RankRow row = example::rank(problem, "gemm_mma", example::kBest, best_ns, baseline_ns);
  for (RankEntry& entry : row.record.entries) {
    for (double& ns : entry.samples_ns) {
      ns = entry.median_ns * (1 + std::normal_distribution<>(0, 0.005)(random));
    }
  }
  row.record.finished_at = fmt::format("2026-01-{:02}T10:00:00Z", day);
  row.record.toolchain.driver = driver;
  row.record.identity.cublas = "13.1";
  results.ranks = {row};
  TrialRow trial = example::trial(problem, "gemm_mma", example::kBest, best_ns);
  trial.record.compile.cubin_hash = "code";
  results.trials = {trial};
  return results;
}

std::vector<ResultHistory> history_of(const std::vector<Results>& runs) {
  HistoryBuilder builder;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    builder.add(example::run(fmt::format("run{}", i), runs[i]));
  }
  return builder.finish(0.01);
}

std::vector<Results> step_at(int day, const std::string& driver_after = "580.1") {
  std::vector<Results> runs;
  for (int i = 1; i <= 20; ++i) {
    runs.push_back(i < day ? results_of(i, 1000) : results_of(i, 1060, driver_after));
  }
  return runs;
}

TEST(HistoryBuilder, FindsTheChangeAndNamesWhatChangedBeside) {
  const auto histories = history_of(step_at(12, "581.2"));
  ASSERT_THAT(histories, SizeIs(1));
  ASSERT_THAT(histories[0].changes, SizeIs(1));
  const HistoryChange& change = histories[0].changes[0];
  EXPECT_EQ(histories[0].baseline, "cublaslt_best");
  EXPECT_EQ(histories[0].points[change.step.first_after].run, "run11");
  EXPECT_NEAR(change.step.ratio.value, 1.06, 0.005);
  EXPECT_THAT(change.environment,
              ElementsAre("driver 580.1 -> 581.2", "the machine code is the same"));
  const std::string text = history_text(histories);
  EXPECT_THAT(text, HasSubstr("run11 2026-01-12"));
  EXPECT_THAT(text, HasSubstr("1 change to slower, 0 to faster, 0 pending"));
}

TEST(HistoryBuilder, PutsRunsInTheOrderOfTheirTime) {
  std::vector<Results> runs = step_at(12);
  std::reverse(runs.begin(), runs.end());
  const auto histories = history_of(runs);
  ASSERT_THAT(histories[0].changes, SizeIs(1));
  EXPECT_EQ(histories[0].points[histories[0].changes[0].step.first_after].run, "run8");
}

TEST(HistoryBuilder, CountsAVerdictThatRunsShareOnce) {
  std::vector<Results> runs = step_at(19);
  EXPECT_EQ(history_of(runs)[0].changes.at(0).step.kind, StepKind::pending);
  for (int i = 0; i < 5; ++i) runs.push_back(runs.back());
  const auto histories = history_of(runs);
  EXPECT_THAT(histories[0].points, SizeIs(20));
  EXPECT_EQ(histories[0].changes.at(0).step.kind, StepKind::pending);
}

// Two runs, 8 % apart, were once "0 changes to slower, 0 to faster, 0 pending".
TEST(HistoryBuilder, SaysWhatCanBeSeenWhereRunsAreTooFew) {
  const auto two = history_of({results_of(1, 1000), results_of(2, 1080)});
  ASSERT_THAT(two[0].changes, SizeIs(1));
  EXPECT_EQ(two[0].changes[0].step.kind, StepKind::few_runs);
  EXPECT_NEAR(two[0].changes[0].step.ratio.value, 1.08, 0.005);
  const std::string text = history_text(two);
  EXPECT_THAT(text, HasSubstr("too few runs to tell"));
  EXPECT_THAT(text, HasSubstr("+8."));
  EXPECT_THAT(text, HasSubstr("1 with too few runs to tell"));
  EXPECT_THAT(history_of({results_of(1, 1000), results_of(2, 1001)})[0].changes, IsEmpty());
  EXPECT_THAT(history_of({results_of(1, 1000)})[0].changes, IsEmpty());
}

TEST(HistoryBuilder, TakesWhatSlowsTheBaselineJustAsMuchForNoChange) {
  std::vector<Results> runs;
  for (int i = 1; i <= 20; ++i) {
    const double slower = i < 10 ? 1 : 1.2;
    runs.push_back(results_of(i, 1000 * slower, "580.1", 1200 * slower));
  }
  EXPECT_THAT(history_of(runs)[0].changes, IsEmpty());
}

TEST(HistoryBuilder, GoesByTimeWhereTheBaselineIsAnother) {
  std::vector<Results> runs = step_at(12);
  runs[5].ranks[0].record.identity.cublas = "13.2";
  const auto histories = history_of(runs);
  EXPECT_EQ(histories[0].baseline, "");
  EXPECT_THAT(histories[0].changes, SizeIs(1));
}

TEST(HistoryJson, HoldsEveryPointAndChange) {
  const auto json = history_json(history_of(step_at(12)));
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["points"].size(), 20u);
  EXPECT_EQ(json[0]["changes"][0]["first_after"], 11);
}

}  // namespace
}  // namespace assay
