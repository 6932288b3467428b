// The pipeline with a device and a compiler that do what the test says.
#include "tuner/tuner.h"

#include "base/error.h"
#include "tuner/sweep_run.h"
#include "tuner/tuner_fixture.h"

#include "held_time_zone.h"
#include "matchers.h"

namespace assay::test {
namespace {

TEST_F(TunerTest, TriesEachConfigurationOnceAndRanksTheBest) {
  const SweepReport report = run();
  EXPECT_EQ(blocks_of(device_.ran), kAllBlocks);
  EXPECT_EQ(stored_blocks(), kAllBlocks);
  EXPECT_EQ(report.total, 10u);
  EXPECT_EQ(report.measured, 10u);
  EXPECT_EQ(report.kept + report.taken + report.skipped, 0u);
  EXPECT_THAT(sweep_states(), ElementsAre("done"));

  ASSERT_THAT(device_.reranked, SizeIs(1));
  EXPECT_EQ(blocks_of(device_.reranked[0]), (Blocks{1, 2, 3, 4, 5, 6, 7, 8}));
  for (const TrialRequest& request : device_.reranked[0]) {
    EXPECT_EQ(request.screened_ns, 1e3 * static_cast<double>(block_of(request.plan.config)));
    EXPECT_EQ(request.cubin_path, to_text(request.plan.config) + ".cubin");
  }
  ASSERT_THAT(ranks(), SizeIs(1));
  EXPECT_EQ(winner().config, "BLOCK=1");
  EXPECT_TRUE(winner().winner);
}

TEST_F(TunerTest, RunAgainItMeasuresNothing) {
  sweep_.kernels[0].baseline = {BaselineSpec{"cublaslt"}};
  run();
  ScriptedDevice idle;
  ScriptedCompiler unused;
  const SweepReport report = run(idle, unused);
  EXPECT_THAT(idle.ran, IsEmpty());
  EXPECT_EQ(idle.num_baselines, 0);
  EXPECT_THAT(idle.reranked, IsEmpty());
  EXPECT_EQ(unused.num_submitted, 0);
  EXPECT_EQ(report.kept, 10u);
  EXPECT_EQ(report.measured, 0u);
  EXPECT_EQ(report.counts, (decltype(report.counts){{{Status::correct, ""}, 10}}));
}

// The process was killed, or a neighbour had taken the GPU's memory: the next run tries again.
TEST_F(TunerTest, RunAgainItTriesWhatTheMachineFailedIn) {
  device_.on_run = [](const TrialRequest& request) {
    const char* const kinds[] = {"killed", "out_of_memory", "crash"};  // of 3, 4 and 5
    const std::int64_t block = block_of(request.plan.config);
    return block < 3 || block > 5 ? timed(1000) : failed(Status::runtime, kinds[block - 3]);
  };
  EXPECT_EQ(run().measured, 10u);
  ScriptedDevice mended;
  const SweepReport report = run(mended, compiler_);
  EXPECT_EQ(blocks_of(mended.ran), (Blocks{3, 4}));
  EXPECT_EQ(report.counts.at({Status::correct, ""}), 9u);
  EXPECT_EQ(report.counts.at({Status::runtime, "crash"}), 1u);
  ScriptedDevice idle;
  EXPECT_EQ(run(idle, compiler_).kept, 10u);
}

TEST_F(TunerTest, AsksForAllThatFailedWhenToldTo) {
  device_.on_run = [](const TrialRequest& request) {
    if (block_of(request.plan.config) > 2) return timed(1000);
    return failed(Status::timeout, "hang");
  };
  run();
  options_.retry_failed = true;
  ScriptedDevice mended;
  EXPECT_EQ(run(mended, compiler_).counts.at({Status::correct, ""}), 10u);
  EXPECT_EQ(blocks_of(mended.ran), (Blocks{1, 2}));
}

// It was stopped at a time limit, and is to be timed for longer when its worker is killed.
TEST_F(TunerTest, AFaultOfTheMachineTakesNoResultsPlace) {
  device_.on_run = [](const TrialRequest&) {
    Outcome outcome = timed(1000);
    outcome.timing->stop = StopReason::time_limit;
    outcome.timing->time_limit_s = 1;
    return outcome;
  };
  sweep_.measure.max_seconds_per_config = 1;
  run();
  sweep_.measure.max_seconds_per_config = 2;
  device_.on_run = [](const TrialRequest&) { return failed(Status::runtime, "killed"); };
  run();
  for (const TrialRow& row : trials()) {
    EXPECT_EQ(row.record.outcome.status, Status::correct) << to_text(row.record.config);
  }
}

TEST_F(TunerTest, OneMoreValueMeasuresThatOneAndRanksAnew) {
  run();
  sweep_.kernels[0].params[0].values.push_back(std::int64_t{11});
  ScriptedDevice device;
  run(device, compiler_);
  EXPECT_EQ(blocks_of(device.ran), Blocks{11});
  EXPECT_THAT(device.reranked, SizeIs(1));
}

TEST_F(TunerTest, WhatAConfigurationDoesWrongIsStored) {
  sweep_.kernels[0].params[0].values.push_back(std::int64_t{5000});  // no GPU has such a block
  compiler_.on_submit = [](const CompileJob& job) {
    CompileResult result = ScriptedCompiler::good(job);
    result.ok = block_of(job.config) > 2;
    if (block_of(job.config) == 2) result.kind = "timeout";
    if (!result.ok) result.log = "no";
    return ScriptedCompiler::ready(result);
  };
  device_.on_run = [](const TrialRequest& request) {
    if (block_of(request.plan.config) > 3) return timed(1000);
    return failed(Status::correctness, "mismatch", "C[0] is 1");
  };
  const SweepReport report = run();
  EXPECT_EQ(blocks_of(device_.ran), (Blocks{3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(report.counts, (decltype(report.counts){{{Status::correct, ""}, 7},
                                                    {{Status::compile, "error"}, 1},
                                                    {{Status::compile, "timeout"}, 1},
                                                    {{Status::correctness, "mismatch"}, 1},
                                                    {{Status::runtime, "launch"}, 1}}));
  EXPECT_EQ((report.examples.at({Status::correctness, "mismatch"})), "C[0] is 1, of BLOCK=3");
  EXPECT_EQ(stored_blocks().size(), 11u);
  EXPECT_EQ(run().kept, 11u) << "a failure is a result";
}

TEST_F(TunerTest, NothingCorrectIsNotRanked) {
  device_.on_run = [](const TrialRequest&) { return failed(Status::runtime, "trap"); };
  run();
  EXPECT_THAT(device_.reranked, IsEmpty());
  EXPECT_THAT(sweep_states(), ElementsAre("done"));
}

TEST_F(TunerTest, OneSlowCompileDoesNotHoldTheDeviceUp) {
  std::promise<CompileResult> slow;
  compiler_.on_submit = [&](const CompileJob& job) {
    if (block_of(job.config) == 1) return slow.get_future();
    return ScriptedCompiler::ready(ScriptedCompiler::good(job));
  };
  device_.on_run = [&](const TrialRequest& request) {
    if (block_of(request.plan.config) == 6) {
      slow.set_value(ScriptedCompiler::good({"", {}, request.plan.config, "", {"add"}}));
      compiler_.on_submit = [](const CompileJob& job) {
        return ScriptedCompiler::ready(ScriptedCompiler::good(job));
      };
    }
    return timed(1000);
  };
  run();
  ASSERT_THAT(device_.ran, SizeIs(10));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(block_of(device_.ran[i].plan.config), static_cast<std::int64_t>(i + 2));
  }
  EXPECT_EQ(block_of(device_.ran[5].plan.config), 1);
}

TEST_F(TunerTest, EachConfigurationRacesTheFastestBeforeIt) {
  device_.on_run = [](const TrialRequest& request) {
    const std::int64_t block = block_of(request.plan.config);
    Outcome outcome = timed(static_cast<double>(1000 - block));
    // One that was given up early is no record to beat.
    if (block == 2) outcome.timing->stop = StopReason::raced;
    return outcome;
  };
  device_.on_rerank = in_turn([](std::int64_t block) { return static_cast<double>(1000 - block); });
  add_kernel(sweep_, "add_too");  // competes with the first
  run();
  ASSERT_THAT(device_.ran, SizeIs(20));
  EXPECT_EQ(device_.ran[0].best_ns, std::nullopt);
  EXPECT_EQ(device_.ran[1].best_ns, 999);
  EXPECT_EQ(device_.ran[2].best_ns, 999);
  EXPECT_EQ(device_.ran[3].best_ns, 997);
  EXPECT_EQ(device_.ran[9].best_ns, 991);
  EXPECT_EQ(device_.ran[10].best_ns, 990);
}

TEST_F(TunerTest, RacesWhatWasStoredBeforeAndNoOtherProblem) {
  sweep_.search.budget_configs = 1;
  run();
  sweep_.search.budget_configs = 2;
  sweep_.problems.push_back({{"N", 2000}});
  ScriptedDevice device;
  run(device, compiler_);
  ASSERT_THAT(device.ran, SizeIs(3));
  EXPECT_TRUE(device.ran[0].best_ns.has_value()) << "one of N=1000 was stored";
  EXPECT_FALSE(device.ran[1].best_ns.has_value()) << "nothing of N=2000 is known";
}

TEST_F(TunerTest, BaselinesAreTimedOnceForEachOpAndProblem) {
  sweep_.kernels[0].baseline = {BaselineSpec{"cublaslt"}};
  add_kernel(sweep_, "add_too");
  sweep_.problems.push_back({{"N", 2000}});
  run();
  EXPECT_EQ(device_.num_baselines, 2);
  EXPECT_THAT(Store::open_readonly(db()).baselines({}), SizeIs(2));
}

// Only the first kernel that names a baseline was asked for its inputs. Where the sweep's
// constraints left that one nothing for a problem, winners had nothing to be compared with.
TEST_F(TunerTest, BaselinesAreTimedWhereOnlyTheSecondKernelHasConfigurations) {
  std::string yaml = kAddYaml;
  yaml.replace(yaml.find("kernel: add"), 11, "kernel: small");
  folder_.write("kernels/small.yaml", yaml + "constraints: [N < 1000]\n");
  folder_.write("kernels/small.cu", "extern \"C\" __global__ void small() {}\n");
  folder_.write("test.yaml", "sweep: test\nkernels: [small, add]\nproblems: [{N: 1000}]\n");
  load("test.yaml");
  for (KernelSpec& kernel : sweep_.kernels) kernel.baseline = {BaselineSpec{"cublaslt"}};
  run();
  EXPECT_EQ(device_.num_baselines, 1);
  EXPECT_THAT(Store::open_readonly(db()).baselines({}), SizeIs(1));
}

// Kernels were looked up in the folder itself, though a sweep may name one of a folder below it.
TEST_F(TunerTest, RanksWithWhatAKernelOfAFolderBelowDidBefore) {
  std::string yaml = kAddYaml;
  folder_.write("kernels/more/plus.yaml", yaml.replace(yaml.find("add"), 3, "plus"));
  folder_.write("kernels/more/plus.cu", "extern \"C\" __global__ void plus() {}\n");
  folder_.write("plus.yaml", "sweep: plus\nkernels: [more/plus]\nproblems: [{N: 1000}]\n");
  options_.kernel_directory = folder_ / "kernels";
  const SweepSpec add = sweep_;
  load("plus.yaml");
  run();
  sweep_ = add;
  EXPECT_THAT(run().warnings, IsEmpty());
  const std::vector<RankRow> ranks = this->ranks();
  ASSERT_THAT(ranks, SizeIs(3));
  EXPECT_EQ(ranks[2].record.identity.num_candidates, 20);

  folder_.write("kernels/more/plus.cu", "extern \"C\" __global__ void plus() { }\n");
  sweep_.problems.push_back({{"N", 2000}});
  EXPECT_THAT(run().warnings, ElementsAre(HasSubstr("plus as it was before it changed or moved")));
}

TEST_F(TunerTest, AKernelForOtherDevicesIsLeftOutWithAWarning) {
  add_kernel(sweep_, "add_too");
  sweep_.kernels[1].arch = {"100"};
  EXPECT_THAT(run().warnings, ElementsAre(HasSubstr("add_too is left out")));
  EXPECT_THAT(device_.ran, SizeIs(10));

  sweep_.kernels[0].arch = {"80a"};
  EXPECT_THAT(
      [&] { run(); },
      ThrowsMessage<UsageError>(StartsWith("nothing to run: add is left out: it is written for")));
  EXPECT_THAT(sweep_states(), ElementsAre("done", "failed"));
}

/// The device is lost while it does what the parameter says.
class LostDevice : public TunerTest, public testing::WithParamInterface<std::string> {
 protected:
  LostDevice() {
    sweep_.kernels[0].baseline = {BaselineSpec{"cublaslt"}};
    const Error lost("GPU 0 is lost");
    if (GetParam() == "baseline") {
      device_.on_baselines = [lost](const auto&, const auto&) -> std::vector<BaselineTiming> {
        throw lost;
      };
    } else if (GetParam() == "trial") {
      device_.on_run = [lost](const TrialRequest& request) {
        if (block_of(request.plan.config) == 4) throw lost;
        return timed(1000);
      };
    } else {
      device_.on_rerank = [lost](const auto&) -> RerankResult { throw lost; };
    }
  }
};

INSTANTIATE_TEST_SUITE_P(In, LostDevice, testing::Values("baseline", "trial", "rerank"),
                         [](const auto& test) { return test.param; });

TEST_P(LostDevice, EndsTheSweepAndKeepsWhatIsStored) {
  EXPECT_THROW(run(), Error);
  EXPECT_THAT(sweep_states(), ElementsAre("failed"));
  EXPECT_EQ(compiler_.num_cancelled, 1);
  const std::map<std::string, Blocks> stored{
      {"baseline", {}}, {"trial", {1, 2, 3}}, {"rerank", kAllBlocks}};
  EXPECT_EQ(stored_blocks(), stored.at(GetParam()));
  EXPECT_EQ(report_.measured, stored.at(GetParam()).size());
  EXPECT_THAT(ranks(), IsEmpty());

  ScriptedDevice sound;
  const SweepReport report = run(sound, compiler_);
  EXPECT_EQ(report.kept, stored.at(GetParam()).size());
  EXPECT_EQ(sound.num_baselines, GetParam() == "baseline" ? 1 : 0);
  EXPECT_EQ(stored_blocks(), kAllBlocks);
  EXPECT_THAT(ranks(), SizeIs(1));
  EXPECT_THAT(sweep_states(), ElementsAre("failed", "done"));
}

TEST_F(TunerTest, WhatADeviceReplaysKeepsTheTimeAtWhichItWasMeasured) {
  device_.on_run = [](const TrialRequest& request) {
    Outcome outcome = timed_by_block(request);
    outcome.recorded_at = "2026-01-01T00:00:00Z";
    return outcome;
  };
  device_.on_baselines = [](const TrialRequest&, const auto&) {
    return std::vector<BaselineTiming>{
        {"cublaslt", "", *timed(1e9).timing, "", "2026-01-02T00:00:00Z"}};
  };
  device_.on_rerank = [usual = device_.on_rerank](const auto& candidates) {
    RerankResult result = usual(candidates);
    result.recorded_at = "2026-01-03T00:00:00Z";
    return result;
  };
  sweep_.kernels[0].baseline = {BaselineSpec{"cublaslt"}};
  run();
  const Store store = Store::open_readonly(db());
  for (const TrialRow& row : store.trials({})) {
    EXPECT_EQ(row.record.finished_at, "2026-01-01T00:00:00Z");
  }
  for (const BaselineRow& row : store.baselines({})) {
    EXPECT_EQ(row.record.finished_at, "2026-01-02T00:00:00Z");
  }
  ASSERT_EQ(store.ranks({}).size(), 1u);
  EXPECT_EQ(store.ranks({})[0].record.finished_at, "2026-01-03T00:00:00Z");
}

// With libc's functions it took a lock, which a compiler that was forked just then never got.
TEST(NowUtc, TakesNoLock) {
  HeldTimeZone zone;
  std::future<std::string> now = std::async(std::launch::async, now_utc);
  EXPECT_EQ(now.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  zone.release();
  std::tm parts{};
  const std::string text = now.get();
  ASSERT_NE(::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts), nullptr) << text;
  EXPECT_NEAR(static_cast<double>(::timegm(&parts)), static_cast<double>(std::time(nullptr)), 60);
}

}  // namespace
}  // namespace assay::test
