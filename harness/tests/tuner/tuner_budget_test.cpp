// Budgets of configurations and of seconds.

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "base/error.h"
#include "matchers.h"
#include "tuner/tuner.h"
#include "tuner/tuner_fixture.h"

namespace assay::test {
namespace {

TEST_F(TunerTest, ABudgetOfConfigurationsHoldsForEachKernelAndProblem) {
  sweep_.search.budget_configs = 3;
  add_kernel(sweep_, "add_too");
  sweep_.problems.push_back({{"N", 2000}});
  const SweepReport report = run();
  EXPECT_EQ(report.total, 12u);
  EXPECT_EQ(report.measured, 12u);
  EXPECT_EQ(report.skipped, 0u);
  std::map<std::pair<std::string, std::string>, int> tried;
  for (const TrialRequest& request : device_.ran) {
    ++tried[{request.plan.kernel, to_text(request.plan.problem)}];
  }
  EXPECT_THAT(tried, SizeIs(4));
  for (const auto& [what, count] : tried) EXPECT_EQ(count, 3) << what.first << " " << what.second;
}

// What is stored counts too: the same command run again is not a further three.
TEST_F(TunerTest, ABudgetOfConfigurationsCountsWhatIsStored) {
  sweep_.search.budget_configs = 3;
  run();
  ScriptedDevice idle;
  EXPECT_EQ(run(idle, compiler_).kept, 3u);
  EXPECT_THAT(idle.ran, IsEmpty());
  sweep_.search.budget_configs = 5;
  EXPECT_EQ(run().measured, 2u);
}

// A search that learns asked for others once it knew the times of all that it had tried.
TEST_F(TunerTest, ASearchThatLearnsCountsWhatItTriedBefore) {
  search_by(Strategy::model, 6);
  device_.on_run = [](const TrialRequest& request) {
    return timed(1000 + static_cast<double>(100 * block_of(request.plan.config)));
  };
  EXPECT_EQ(run().measured, 6u);
  ScriptedDevice idle;
  const SweepReport again = run(idle, compiler_);
  EXPECT_EQ(again.kept, 6u);
  EXPECT_EQ(again.measured, 0u);
  EXPECT_THAT(idle.ran, IsEmpty());
}

TEST_F(TunerTest, ABudgetOfSecondsStartsNothingWhenItIsUsedUp) {
  sweep_.search.budget_seconds = 1e-9;
  const SweepReport report = run();
  EXPECT_THAT(device_.ran, IsEmpty());
  EXPECT_EQ(report.total, 10u);
  EXPECT_EQ(report.skipped, 10u);
  EXPECT_THAT(sweep_states(), ElementsAre("done"));

  sweep_.search.budget_seconds = 1e9;
  EXPECT_EQ(run().measured, 10u);
}

/// 18 parameters of ten values.
std::string many_params() {
  std::string params = "BLOCK: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
  for (int i = 0; i < 18; ++i) params += fmt::format(", P{}: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]", i);
  return params;
}

/// A constraint of all parameters leaves those whose sum is `least` or less.
std::string sum_is(int least) {
  std::string sum = "BLOCK";
  for (int i = 0; i < 18; ++i) sum += fmt::format(" + P{}", i);
  return fmt::format("constraints:\n  - {} <= {}\n", sum, least);
}

// The walk went on for minutes after the budget, and then ended the sweep.
TEST_F(TunerTest, ABudgetOfSecondsEndsTheWalkOfAnEndlessSpace) {
  load_with(many_params(), sum_is(1));
  sweep_.search.budget_seconds = 0.4;
  const SweepReport report = run();
  EXPECT_EQ(report.total, 1u);
  EXPECT_EQ(report.measured + report.skipped, 1u);  // no time is left for it on a busy machine
  EXPECT_THAT(device_.reranked, SizeIs(report.measured));
  EXPECT_THAT(sweep_states(), ElementsAre("done"));
  EXPECT_THAT(report.warnings,
              Contains("add N=1000: the space has over 1 configurations; the search goes "
                       "through 1 of them, which were drawn, and what is near the fastest"));
}

/// Of each two parameters a constraint leaves a tenth.
std::string pairs_are_equal() {
  std::string constraints = "constraints:\n";
  for (int i = 0; i < 18; i += 2) constraints += fmt::format("  - P{} == P{}\n", i, i + 1);
  return constraints;
}

// A space that could not be listed ended the sweep, whatever the strategy and the budget.
TEST_F(TunerTest, ASpaceThatIsTooLargeToBeListedIsDrawn) {
  load_with(many_params(), pairs_are_equal());
  sweep_.search.budget_configs = 30;
  for (const Strategy strategy : {Strategy::random, Strategy::automatic, Strategy::model}) {
    sweep_.search.strategy = strategy;
    sweep_.search.seed = 7 + static_cast<std::uint64_t>(strategy);
    device_.ran.clear();
    const SweepReport report = run();
    EXPECT_EQ(report.total, 30u);
    EXPECT_EQ(report.measured + report.kept, 30u);
    EXPECT_THAT(report.warnings,
                Contains("add N=1000: the space has 10000000000 configurations; the search goes "
                         "through 20000 of them, which were drawn, and what is near the fastest"));
    for (const TrialRequest& request : device_.ran) {
      for (std::size_t i = 1; i < request.plan.config.size(); i += 2) {
        EXPECT_EQ(request.plan.config[i].second, request.plan.config[i + 1].second);
      }
    }
  }
}

TEST_F(TunerTest, ASpaceThatIsTooLargeToTryAllOfNamesTheParameterToNarrow) {
  load_with(many_params(), pairs_are_equal());
  sweep_.search.strategy = Strategy::exhaustive;
  EXPECT_THAT([&] { run(); }, ThrowsMessage<UsageError>(HasSubstr(
                                  "found 10000000000 for N=1000; give the parameters fewer "
                                  "values, first BLOCK, or the search a budget")));
}

TEST_F(TunerTest, AnEndlessSpaceInWhichNothingIsFoundIsSaidToBeSo) {
  load_with(many_params(), sum_is(0));
  sweep_.search.budget_seconds = 0.4;
  EXPECT_THAT([&] { run(); },
              ThrowsMessage<UsageError>(HasSubstr("no configuration was found in the time")));
}

// With both budgets, those that the other one leaves out were counted as skipped, too.
TEST_F(TunerTest, WhatIsSkippedIsWhatTheOtherBudgetWouldHaveTried) {
  sweep_.search.budget_seconds = 1e-9;
  sweep_.search.budget_configs = 3;
  const SweepReport report = run();
  EXPECT_EQ(report.total, 3u);
  EXPECT_EQ(report.skipped, 3u);
}

// All that was compiled ahead was still run: with sixteen threads of the compiler, 64 more.
TEST_F(TunerTest, ABudgetOfSecondsEndsWhatIsCompiledAhead) {
  sweep_.search.budget_seconds = 0.05;
  device_.on_run = [](const TrialRequest& request) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    return timed_by_block(request);
  };
  const SweepReport report = run();
  EXPECT_LE(report.measured, 1u);  // none on a machine so busy that the time is up before
  EXPECT_EQ(report.measured + report.skipped, report.total);
  EXPECT_THAT(sweep_states(), ElementsAre("done"));
}

// It was 2 less 6, without a sign.
TEST_F(TunerTest, NothingIsSkippedWhereMoreWasTriedBeforeThanTheBudget) {
  search_by(Strategy::model, 6);
  run();
  sweep_.search.budget_configs = 2;
  sweep_.search.budget_seconds = 1e-9;
  EXPECT_EQ(run().skipped, 0u);
}

/// BLOCK is from 1 to 60: more than a search draws before it looks at times.
class ManyBlocks : public TunerTest {
 protected:
  ManyBlocks() { load_with("BLOCK: {from: 1, to: 60, step: 1}"); }
};

// What was compiled ahead and not run counted as tried.
TEST_F(ManyBlocks, WhatABudgetOfSecondsLeavesOutWasNotTried) {
  sweep_.search.budget_seconds = 0.3;
  sweep_.search.budget_until_ratio = 1e-9;
  device_.on_run = [](const TrialRequest& request) {
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    return timed_by_block(request);
  };
  const SweepReport report = run();
  EXPECT_EQ(report.measured + report.skipped, 60u);
  ASSERT_THAT(report.searches, SizeIs(1));
  EXPECT_EQ(report.searches[0].tried, report.measured);
}

// On 32 cores 49 of a budget of 60 were proposed before the search had seen one time.
TEST_F(ManyBlocks, ASearchLearnsFromMostOfItsBudgetOnAnyNumberOfCores) {
  search_by(Strategy::model, 40);
  compiler_.threads = 32;
  int num_run = 0, most_under_way = 0;
  device_.on_run = [&](const TrialRequest& request) {
    most_under_way = std::max(most_under_way, compiler_.num_submitted - num_run++);
    return timed_by_block(request);
  };
  run();
  EXPECT_EQ(num_run, 40);
  EXPECT_LE(most_under_way, 4);
}

// They were left, and others tried in their place.
TEST_F(ManyBlocks, ASearchTriesAgainWhatFailedBecauseTheMachineDid) {
  search_by(Strategy::model, 40);
  std::multiset<std::int64_t> killed;
  device_.on_run = [&](const TrialRequest& request) {
    const std::int64_t block = block_of(request.plan.config);
    if (block % 3 != 0) return timed(1e3 * static_cast<double>(block));
    killed.insert(block);
    return failed(Status::runtime, "killed");
  };
  run();
  ASSERT_THAT(killed, Not(IsEmpty()));
  ScriptedDevice idle;
  const SweepReport again = run(idle, compiler_);
  EXPECT_EQ(blocks_of(idle.ran), killed);
  EXPECT_EQ(again.measured + again.kept, 40u);
  EXPECT_EQ(stored_blocks().size(), 40u);
}

// The time is 1 us for each BLOCK: there is nothing to gain once that is known.
TEST_F(ManyBlocks, ABudgetEndsWhenLittleIsToGainAndTheReportSaysSo) {
  sweep_.search.budget_until_ratio = 0.5;
  const SweepReport report = run();
  EXPECT_LT(report.measured, 60u);
  EXPECT_EQ(report.measured + report.skipped, 60u);
  EXPECT_THAT(blocks_of(device_.ran), Contains(1));
  ASSERT_THAT(report.searches, SizeIs(1));
  EXPECT_EQ(report.searches[0].tried, report.measured);
  EXPECT_EQ(report.searches[0].size, 60u);
  EXPECT_LE(report.searches[0].gain_ratio.value(), 0.5);
}

// The search of a replay went where its times led it, and found configurations that nobody had
// measured: 1,340 of 2,176 in the replay of a sweep.
TEST_F(TunerTest, TheReplayOfASearchGoesThroughWhatWasRecorded) {
  device_.known = {{{"BLOCK", std::int64_t{9}}},
                   {{"BLOCK", std::int64_t{2}}},
                   {{"BLOCK", std::int64_t{11}}},  // no configuration any more
                   {{"BLOCK", std::int64_t{5}}}};
  sweep_.search.budget_configs = 4;
  options_.provenance = "recorded on a GPU";
  EXPECT_EQ(run().total, 3u);
  EXPECT_EQ(stored_blocks(), (Blocks{2, 5, 9}));
}

}  // namespace
}  // namespace assay::test
