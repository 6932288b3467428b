// The instrument itself, on a real GPU: known durations, known traffic, known answers.
#include "worker/trial_runner.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/stats.h"
#include "gpu_fixture.h"
#include "ranking/ranking.h"
#include "spec/vocabulary.h"

namespace assay {
namespace {

class TrialRunnerTest : public test::TimedTest {
 protected:
  Outcome run(const KernelSpec& kernel, const Config& chosen = {}) {
    return runner_->run(request_of(kernel, runner_->info(), chosen));
  }
  TrialRequest spin(std::int64_t microseconds) {
    return request_of(broken_kernel("spin"), runner_->info(), {{"SPIN_US", Value(microseconds)}});
  }
};

// Over four decades. How exact they are, `instrument_bench --parts known` prints.
TEST_F(TrialRunnerTest, ALongerKernelTakesLonger) {
  double before_ns = 0;
  for (const std::int64_t microseconds : {10, 100, 1000, 10000, 100000}) {
    const Outcome outcome = runner_->run(spin(microseconds));
    ASSERT_EQ(outcome.status, Status::correct) << outcome.message;
    EXPECT_GT(outcome.timing->median_ns, before_ns);
    before_ns = outcome.timing->median_ns;
  }
}

TEST_F(TrialRunnerTest, ASlowLaunchEndsAtTheTimeLimitAndSaysSo) {
  TrialRequest request = spin(100000);
  request.measure.max_seconds_per_config = 0.05;
  const Outcome outcome = runner_->run(request);
  ASSERT_EQ(outcome.status, Status::correct) << outcome.message;
  EXPECT_EQ(outcome.timing->stop, StopReason::time_limit);
  EXPECT_GE(outcome.timing->samples_ns.size(), 1u);
  EXPECT_THAT(outcome.message, testing::HasSubstr("time limit")) << outcome.message;
}

TEST_F(TrialRunnerTest, WhatIsNoSlowerThanNothingSaysSo) {
  TrialRequest request = request_of(shipped_kernel("vector_add"), runner_->info());
  request.plan =
      make_plan(shipped_kernel("vector_add"), {{"N", 1}}, request.plan.config, runner_->info());
  const Outcome outcome = runner_->run(request);
  ASSERT_EQ(outcome.status, Status::correct) << outcome.message;
  // The trial had a floor of its own. Where this one is near the limit, either answer is right.
  const double ratio = outcome.timing->median_ns / runner_->self_test().empty_kernel_ns;
  if (std::abs(ratio - 1.05) < 0.05) return;
  EXPECT_EQ(ratio < 1.05, outcome.message.find("empty kernel") != std::string::npos)
      << outcome.message;
}

/// The verdict on kernels that differ by a known time alone.
std::vector<RankEntry> verdict_of(const RerankResult& result) {
  std::vector<RankEntry> entries;
  for (const RerankEntry& entry : result.candidates) {
    entries.push_back({"spin", entry.name, entry.samples_ns});
    entries.back().clocks_mhz = entry.clocks_mhz;
    entries.back().eliminated = entry.eliminated;
  }
  return rank_entries(std::move(entries));
}

TEST_F(TrialRunnerTest, HalfAPercentIsATieAndTwoPercentIsNone) {
  std::vector<TrialRequest> candidates;
  for (const std::int64_t microseconds : {408, 402, 400}) {
    candidates.push_back(spin(microseconds));
  }
  const auto verdict = verdict_of(runner_->rerank(candidates, {}, {.rounds = 30}));
  ASSERT_EQ(verdict.size(), 3u);
  EXPECT_EQ(verdict[0].config, to_text(candidates[2].plan.config));
  EXPECT_TRUE(verdict[0].winner);
  EXPECT_EQ(verdict[1].config, to_text(candidates[1].plan.config));
  EXPECT_TRUE(verdict[1].tied);
  EXPECT_FALSE(verdict[2].tied);
}

TEST_F(TrialRunnerTest, ThrottlingIsNoReasonToDropASampleOfTheSustainedProtocol) {
  if (runner_->info().cc != 90) GTEST_SKIP() << "needs a Hopper GPU to draw its power";
  const KernelSpec kernel = shipped_kernel("gemm_wgmma");
  const Config config = parse_config(
      "SWAP_AB=0,MODE=cooperative,BLOCK_M=128,BLOCK_N=256,BLOCK_K=64,STAGES=3,CLUSTER_M=1,"
      "CLUSTER_N=1,CLUSTER_K=1,SPLIT_K=1,PERSISTENT=1,SCHEDULE=grouped,GROUP_M=16");
  TrialRequest request = request_of(kernel, runner_->info(), config);
  request.plan = make_plan(kernel, {{"M", 4096}, {"N", 4096}, {"K", 4096}}, request.plan.config,
                           runner_->info());
  request.measure.protocol = "sustained";
  const Outcome sustained = runner_->run(request);
  ASSERT_TRUE(sustained.timing) << sustained.message;
  ASSERT_TRUE(sustained.timing->state);
  if (throttle_text(sustained.timing->state->throttle_reasons).empty()) {
    GTEST_SKIP() << "this GPU's power suffices";
  }
  EXPECT_EQ(sustained.timing->num_throttled, 0);  // it is what the protocol is about
}

TEST_F(TrialRunnerTest, EnergyIsMeasuredWhereItIsAskedFor) {
  const TrialRequest request = spin(1000);
  EXPECT_EQ(runner_->rerank({request}, {}, {.rounds = 6}).candidates[0].energy_j, 0);
  const RerankResult result =
      runner_->rerank({request}, {}, {.rounds = 6, .objective = Objective::energy});
  if (result.candidates[0].energy_j == 0) GTEST_SKIP() << "NVML does not tell the energy";
  // In joules: a millisecond of a board that draws 10 to 5000 W.
  EXPECT_GT(result.candidates[0].energy_j, 0.01);
  EXPECT_LT(result.candidates[0].energy_j, 5);
  EXPECT_GT(result.duplicate->energy_j, 0);
}

// Launches whose energy is measured follow each other, and were not checked: a kernel that does
// nothing where its output is right took the energy of nothing.
TEST_F(TrialRunnerTest, AKernelThatRestsHasNoEnergy) {
  const TrialRequest request = request_of(broken_kernel("rests_where_done"), runner_->info());
  EXPECT_EQ(runner_->rerank({request}, {}, {.rounds = 6}).candidates[0].outcome.status,
            Status::correct);
  const RerankEntry resting =
      runner_->rerank({request}, {}, {.rounds = 6, .objective = Objective::energy}).candidates[0];
  if (resting.outcome.status == Status::correct && resting.energy_j == 0) {
    GTEST_SKIP() << "NVML does not tell the energy";
  }
  EXPECT_EQ(resting.outcome.status, Status::correctness);
  EXPECT_THAT(resting.outcome.message, testing::HasSubstr("was not timed"));
}

TEST_F(TrialRunnerTest, TimesUnderEveryProtocol) {
  for (const auto& protocol : kProtocols) {
    TrialRequest request = spin(100);
    request.measure.protocol = protocol.name;
    const Outcome outcome = runner_->run(request);
    ASSERT_EQ(outcome.status, Status::correct) << protocol.name << ": " << outcome.message;
    EXPECT_GT(outcome.timing->median_ns, 0) << protocol.name;
  }
}

TEST_F(TrialRunnerTest, KnowsTheClockOfEverySample) {
  const Outcome outcome = runner_->run(spin(100));
  ASSERT_TRUE(outcome.timing);
  ASSERT_EQ(outcome.timing->clocks_mhz.size(), outcome.timing->samples_ns.size());
  EXPECT_THAT(outcome.timing->clocks_mhz, testing::Each(testing::Gt(0)));
  if (runner_->self_test().health) {
    EXPECT_TRUE(outcome.timing->state);
  }
}

// A fair coin may fall alike seven times at any of the looks: by a simulation of the stop rule, in
// 28 % of the runs. At regular times the kernel's coin falls to either side in turn; beside other
// processes it is as good as fair. Hence three runs.
TEST_F(TrialRunnerTest, ABimodalKernelIsNotCalledPrecise) {
  int num_precise = 0;
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = run(broken_kernel("bimodal"));
    ASSERT_EQ(outcome.status, Status::correct) << outcome.message;
    if (outcome.timing->stop == StopReason::precision) ++num_precise;
  }
  EXPECT_LT(num_precise, 3);
}

TEST_F(TrialRunnerTest, ChecksEveryElementOfAGoodKernel) {
  const Outcome outcome = run(shipped_kernel("vector_add"));
  ASSERT_EQ(outcome.status, Status::correct) << outcome.kind << ": " << outcome.message;
  ASSERT_TRUE(outcome.validation);
  EXPECT_EQ(outcome.validation->elements, 100003);
  EXPECT_LE(outcome.validation->worst_element_ratio, 1);
  ASSERT_TRUE(outcome.timing);
  EXPECT_GE(outcome.timing->samples_ns.size(), 7u);
  EXPECT_EQ(outcome.timing->median_ns, median(outcome.timing->samples_ns));
  EXPECT_LE(outcome.timing->ci_low_ns, outcome.timing->median_ns);
  EXPECT_GE(outcome.timing->ci_high_ns, outcome.timing->median_ns);
}

TEST_F(TrialRunnerTest, CublasltIsTwoBaselines) {
  const TrialRequest request = request_of(shipped_kernel("sgemm"), runner_->info());
  const auto baselines = runner_->run_baselines(request, {"cublaslt"});
  ASSERT_EQ(baselines.size(), 2u);
  EXPECT_EQ(baselines[0].name, "cublaslt_first");
  EXPECT_EQ(baselines[1].name, "cublaslt_best");
  EXPECT_THROW(runner_->run_baselines(request, {"mkl"}), UsageError);
}

TEST_F(TrialRunnerTest, ARerankTimesBothBaselines) {
  const RerankResult result = runner_->rerank(
      {request_of(shipped_kernel("sgemm"), runner_->info())}, {"cublaslt"}, {.rounds = 9});
  ASSERT_EQ(result.baselines.size(), 2u);
  EXPECT_EQ(result.baselines[0].name, "cublaslt_first");
  EXPECT_EQ(result.baselines[1].name, "cublaslt_best");
  for (const RerankEntry& baseline : result.baselines) {
    EXPECT_EQ(baseline.outcome.status, Status::correct) << baseline.outcome.message;
    EXPECT_GE(baseline.samples_ns.size(), 9u);
  }
}

TEST_F(TrialRunnerTest, ReranksInTurnAndDropsTheWrong) {
  const std::vector<TrialRequest> candidates = {
      request_of(shipped_kernel("vector_add"), runner_->info(), {{"BLOCK", Value(256)}}),
      request_of(shipped_kernel("vector_add"), runner_->info(), {{"BLOCK", Value(64)}}),
  };
  const RerankResult result = runner_->rerank(candidates, {}, {.rounds = 9});
  ASSERT_EQ(result.candidates.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const RerankEntry& entry = result.candidates[i];
    EXPECT_EQ(entry.outcome.status, Status::correct) << entry.outcome.message;
    EXPECT_EQ(entry.name, to_text(candidates[i].plan.config));
    EXPECT_GE(entry.samples_ns.size(), 6u);
  }
  ASSERT_TRUE(result.duplicate);
  EXPECT_EQ(result.duplicate->samples_ns.size(), result.candidates[0].samples_ns.size());

  const RerankResult wrong = runner_->rerank(
      {request_of(broken_kernel("wrong_after_many"), runner_->info())}, {}, {.rounds = 9});
  EXPECT_EQ(wrong.candidates[0].outcome.status, Status::correctness);
  EXPECT_EQ(wrong.candidates[0].outcome.kind, "state");
}

// With one token 8 of 256 experts are chosen, and the work is to read 235 MB. The re-rank took that
// for the size of the inputs, which are 7.5 GB, and filled the memory until every candidate failed.
TEST_F(TrialRunnerTest, ALargeInputOfWhichLittleIsReadFitsTheMemory) {
  if (runner_->info().cc != 90) GTEST_SKIP() << "needs a Hopper GPU";
  const KernelSpec kernel = shipped_kernel("moe_wgmma");
  TrialRequest request = request_of(
      kernel, runner_->info(),
      parse_config("SWAP_AB=1,MODE=single,BLOCK_M=8,HEIGHTS=1,BLOCK_N=64,BLOCK_K=128,STAGES=6,"
                   "CLUSTER_M=1,CLUSTER_N=1,CLUSTER_K=1,SPLIT_K=1,PERSISTENT=0,SCHEDULE=row,"
                   "GROUP_M=1,GATHER=boxes,STREAMED=0"));
  request.plan = make_plan(
      kernel, {{"M", 1}, {"N", 2048}, {"K", 7168}, {"E", 256}, {"TOP", 8}, {"HIT", 8}, {"skew", 0}},
      request.plan.config, runner_->info());
  const RerankResult result = runner_->rerank({request}, {}, {.rounds = 9});
  EXPECT_EQ(result.candidates[0].outcome.status, Status::correct)
      << result.candidates[0].outcome.message;
}

// On the data of the contract these are right, so they pass the screening.
TEST_F(TrialRunnerTest, NoShortcutThatHoldsForOneKindOfDataWins) {
  for (const char* name : {"assumes_unit_rows", "softmax_without_maximum",
                           "softmax_without_maximum_f16", "norm_of_a_quarter"}) {
    const TrialRequest request = request_of(broken_kernel(name), runner_->info());
    const RerankResult result = runner_->rerank({request}, {}, {.rounds = 9});
    EXPECT_EQ(to_text(result.candidates[0].outcome.status), "correctness") << name;
    // A timed launch with a few large values among its inputs may have found it out before.
    EXPECT_THAT(result.candidates[0].outcome.message,
                testing::AnyOf(testing::HasSubstr("; its inputs were "),
                               testing::HasSubstr("; this was a timed launch")))
        << name;
  }
}

// All of its blocks run at once on an idle GPU, and each reads before any writes.
TEST_F(TrialRunnerTest, NoRaceBetweenBlocksWinsThatHappenToRunAtOnce) {
  const TrialRequest request = request_of(broken_kernel("races_in_place"), runner_->info());
  const RerankResult result = runner_->rerank({request}, {}, {.rounds = 9});
  EXPECT_EQ(to_text(result.candidates[0].outcome.status), "correctness");
  EXPECT_THAT(result.candidates[0].outcome.message, testing::HasSubstr("; other work kept "));
}

TEST_F(TrialRunnerTest, WhatAPreparingLaunchFetchedIsNotInTheCacheOfATimedOne) {
  KernelSpec kernel = broken_kernel("keeps_inputs_in_cache");
  kernel.smoke = {{"N", 4'000'003}};  // 32 MB of inputs
  const auto request = [&](std::int64_t keep) {
    return request_of(kernel, runner_->info(), {{"KEEP", Value(keep)}});
  };
  const RerankResult result = runner_->rerank({request(0), request(1)}, {}, {.rounds = 60});
  for (const RerankEntry& entry : result.candidates) {
    ASSERT_EQ(entry.outcome.status, Status::correct) << entry.outcome.message;
  }
  const double kept_ns = midmean(result.candidates[1].samples_ns);
  EXPECT_GT(kept_ns, 0.97 * midmean(result.candidates[0].samples_ns)) << kept_ns;
}

// The guard zones of an input are the same for all. Who was judged behind a kernel that had written
// there was blamed for it, in two of three runs.
TEST_F(TrialRunnerTest, NobodyIsBlamedForWhatARivalLeftBesideAnInput) {
  const TrialRequest honest = request_of(shipped_kernel("vector_add"), runner_->info());
  TrialRequest rival = request_of(broken_kernel("marks_a_guard_zone"), runner_->info());
  rival.plan.problem = honest.plan.problem;
  const RerankResult result = runner_->rerank({rival, honest, rival, honest}, {}, {.rounds = 9});
  for (const std::size_t good : {1u, 3u}) {
    const Outcome& outcome = result.candidates[good].outcome;
    EXPECT_EQ(outcome.status, Status::correct) << outcome.message;
  }
}

}  // namespace
}  // namespace assay
