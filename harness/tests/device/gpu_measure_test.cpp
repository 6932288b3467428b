// What a live device measures, over a worker whose GPU is the stand-in: samples, protocols, clocks
// and re-ranks.
#include "gpu_device_fixture.h"
#include "spec/vocabulary.h"

namespace assay {
namespace {

using GpuMeasureTest = GpuDeviceTest;

TEST_F(GpuMeasureTest, ARerankDropsTheCandidateThatKillsItAndTimesTheOthers) {
  const RerankResult result =
      gpu().rerank({ready(), ready("crash"), ready_in_blocks_of(256)}, {}, {.rounds = 6});
  ASSERT_EQ(result.candidates.size(), 3u);
  EXPECT_EQ(result.candidates[0].outcome.status, Status::correct);
  EXPECT_GE(result.candidates[0].samples_ns.size(), 6u);
  EXPECT_EQ(result.candidates[1].outcome.kind, "crash");
  EXPECT_TRUE(result.candidates[1].samples_ns.empty());
  EXPECT_EQ(result.candidates[2].samples_ns.size(), 6u);
  EXPECT_LT(result.candidates[2].samples_ns[0], result.candidates[0].samples_ns[0]);
  expect_works();
}

// A launch that was refused while the leader's time was looked at ended the sweep with exit 3.
TEST_F(GpuMeasureTest, ALaunchRefusedAnywhereInARerankCostsItsCandidateAlone) {
  for (const int launch : {1, 2, 3, 4, 5, 6, 8, 12, 40, 80, 200}) {
    for (const unsigned refused : {128u, 256u}) {
      gpu_.reset();
      script(fmt::format("launch_refused@{},block={}", launch, refused));
      const RerankResult result =
          gpu().rerank({ready(), ready_in_blocks_of(256)}, {}, {.rounds = 6});
      ASSERT_EQ(result.candidates.size(), 2u);
      const RerankEntry& other = result.candidates[refused == 128 ? 1 : 0];
      EXPECT_EQ(other.outcome.status, Status::correct)
          << launch << " of " << refused << ": " << other.outcome.message;
      EXPECT_GE(other.samples_ns.size(), 6u);
      EXPECT_EQ(gpu().num_workers_started(), 1);
    }
  }
}

// One lost context made all other candidates "not checked", and the problem had no winner.
TEST_F(GpuMeasureTest, WhoLosesTheContextOfARerankIsFoundAndTheOthersAreRankedAnew) {
  for (const int launch : {1, 2, 3, 6, 12, 40, 200}) {
    for (const unsigned losing : {128u, 256u}) {
      gpu_.reset();
      script(fmt::format("illegal_address@{},block={}", launch, losing));
      const std::vector<TrialRequest> candidates = {ready(), ready_in_blocks_of(256),
                                                    ready_in_blocks_of(512)};
      const RerankResult result = gpu().rerank(candidates, {}, {.rounds = 6});
      ASSERT_EQ(result.candidates.size(), 3u);
      for (std::size_t i = 0; i < 3; ++i) {
        const RerankEntry& entry = result.candidates[i];
        if (candidates[i].plan.launches[0].block[0] == losing) {
          // The slower may have dropped out before that launch. The leader stays.
          if (losing != 128 && launch > 6 && entry.eliminated) continue;
          EXPECT_EQ(entry.outcome.kind, "illegal_address")
              << launch << " of " << losing << ": " << entry.outcome.message;
          EXPECT_TRUE(entry.samples_ns.empty());
        } else {
          EXPECT_EQ(entry.outcome.status, Status::correct)
              << launch << " of " << losing << ": " << entry.outcome.message;
          EXPECT_GE(entry.samples_ns.size(), 6u);
        }
      }
      ASSERT_TRUE(result.duplicate);
      EXPECT_EQ(result.duplicate_of, losing == 128 ? 1u : 0u);
    }
  }
}

// Inputs larger than the GPU ended the sweep with exit 3 where the kernel has a baseline.
TEST_F(GpuMeasureTest, ABaselineThatDoesNotFitIsMissingAndEndsNothing) {
  TrialRequest request = ready();
  for (ArgPlan& arg : request.plan.args) {
    if (auto* buffer = std::get_if<BufferPlan>(&arg)) buffer->shape = {1 << 16, 1 << 16};
  }
  request.plan.reference = {ReferencePlan{"gemm", {{"a", "A"}, {"b", "B"}, {"out", "C"}}, {}}};
  EXPECT_TRUE(gpu().run_baselines(request, {"cublaslt"}).empty());
  EXPECT_EQ(gpu().run(request).kind, "out_of_memory");
  expect_works();
}

TEST_F(GpuMeasureTest, ARerankWhoseWorkerIsKilledIsDoneAgain) {
  script("slow=20000");
  expect_works();
  const pid_t worker = *children().begin();
  std::thread killer([worker] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(worker, SIGKILL);
  });
  const RerankResult result = gpu().rerank({ready(), ready()}, {}, {.rounds = 12});
  killer.join();
  for (const RerankEntry& entry : result.candidates) {
    EXPECT_EQ(entry.outcome.status, Status::correct) << entry.outcome.message;
    EXPECT_EQ(entry.samples_ns.size(), 12u);
  }
  EXPECT_EQ(gpu().num_workers_started(), 2);
}

TEST_F(GpuMeasureTest, AReferenceOfAnotherShapeThanTheOutputIsRefused) {
  TrialRequest request = ready();
  std::get<BufferPlan>(request.plan.args[2]).shape = {10, 100};
  const Outcome outcome = gpu().run(request);
  EXPECT_EQ(outcome.kind, "oracle");
  EXPECT_EQ(outcome.message, "add: its out is [1000], but C is [10,100]");
}

TEST_F(GpuMeasureTest, EverySampleHasItsClock) {
  const Outcome outcome = run("vector_add");
  ASSERT_TRUE(outcome.timing);
  EXPECT_EQ(outcome.timing->clocks_mhz.size(), outcome.timing->samples_ns.size());
  EXPECT_NEAR(outcome.timing->clock_mhz, 1755, 1);  // the stand-in's
}

// Launches 1 to 3 are checks, the 4th is thrown away.
TEST_F(GpuMeasureTest, ASampleAtALowClockIsTakenAgain) {
  script("throttled=6-7");
  const Outcome outcome = run("vector_add");
  ASSERT_TRUE(outcome.timing);
  EXPECT_EQ(outcome.timing->num_throttled, 2);
  for (const double time_ns : outcome.timing->samples_ns) EXPECT_NEAR(time_ns, 3926, 1);
}

TEST_F(GpuMeasureTest, AClockThatStaysLowIsMarkedAndItsSamplesKept) {
  script("throttled=6-100000");
  const Outcome outcome = run("vector_add");
  EXPECT_EQ(outcome.status, Status::correct);
  ASSERT_TRUE(outcome.timing);
  EXPECT_GE(outcome.timing->num_throttled, 6);
  EXPECT_NEAR(outcome.timing->samples_ns.front(), 3926, 1);
  EXPECT_NEAR(outcome.timing->samples_ns.back(), 2 * 3926, 1);
}

TEST_F(GpuMeasureTest, ALowClockUnderLoadIsWhatSustainedMeasures) {
  script("throttled=6-1000000000");
  const Outcome outcome = gpu().run(ready("vector_add", "sustained"));
  ASSERT_TRUE(outcome.timing);
  EXPECT_EQ(outcome.timing->num_throttled, 0);
  EXPECT_NEAR(outcome.timing->median_ns, 2 * 3926, 1);
}

TEST_F(GpuMeasureTest, ATimeThatNeverSettlesUnderLoadSaysSo) {
  script("drifting");
  TrialRequest request = ready("vector_add", "sustained");
  request.measure.max_seconds_per_config = 0.1;
  const Outcome outcome = gpu().run(request);
  EXPECT_EQ(outcome.status, Status::correct);
  ASSERT_TRUE(outcome.timing);
  EXPECT_EQ(outcome.timing->stop, StopReason::unsettled);
  EXPECT_THAT(outcome.message, HasSubstr("never settled")) << outcome.message;
}

TEST_F(GpuMeasureTest, EverySampleOfARerankHasItsClock) {
  const RerankResult result = gpu().rerank({ready(), ready()}, {}, {.rounds = 6});
  for (const RerankEntry& entry : result.candidates) {
    ASSERT_EQ(entry.clocks_mhz.size(), entry.samples_ns.size());
    EXPECT_NEAR(entry.clocks_mhz.front(), 1755, 1);
  }
}

TEST_F(GpuMeasureTest, EveryProtocolOfASweepIsTimed) {
  for (const auto& protocol : kProtocols) {
    const Outcome outcome = gpu().run(ready("vector_add", std::string(protocol.name)));
    EXPECT_EQ(outcome.status, Status::correct) << protocol.name << ": " << outcome.message;
    ASSERT_TRUE(outcome.timing) << protocol.name;
    EXPECT_NEAR(outcome.timing->median_ns, 2000 + 6 + 1920, 1) << protocol.name;
  }
}

TEST_F(GpuMeasureTest, WhatCannotBeCapturedIsRefusedUnderGraphWithASentence) {
  script("no_capture");
  const Outcome outcome = gpu().run(ready("vector_add", "graph"));
  EXPECT_EQ(outcome.status, Status::runtime);
  EXPECT_EQ(outcome.kind, "graph");
  EXPECT_THAT(outcome.message, HasSubstr("cannot be captured")) << outcome.message;
  expect_works();
}

TEST_F(GpuMeasureTest, WhatIsClearlySlowerThanTheBestIsGivenUpAndStillChecked) {
  TrialRequest request = ready();
  request.best_ns = 2000;
  const Outcome outcome = gpu().run(request);
  EXPECT_EQ(outcome.status, Status::correct);
  ASSERT_TRUE(outcome.timing && outcome.validation);
  EXPECT_TRUE(outcome.timing->censored());
  EXPECT_EQ(outcome.timing->samples_ns.size(), 3u);
  request.best_ns = 4000;
  EXPECT_FALSE(gpu().run(request).timing->censored());
}

// Whatever it does in a launch over poison or in the last one: of a re-rank's timed launches some
// are checked, and no kernel can know which.
TEST_F(GpuMeasureTest, AKernelThatWorksInSomeLaunchesOnlyIsFoundInTheTimedOnes) {
  TrialRequest cheat = ready("skips_every_second");
  cheat.plan.deterministic = false;
  const RerankResult result = gpu().rerank({ready(), cheat}, {}, {.top = 2, .rounds = 100});
  EXPECT_EQ(result.candidates.at(0).outcome.status, Status::correct);
  const Outcome& outcome = result.candidates.at(1).outcome;
  EXPECT_EQ(outcome.status, Status::correctness);
  EXPECT_EQ(outcome.kind, "mismatch");
  EXPECT_THAT(outcome.message, HasSubstr("this was a timed launch")) << outcome.message;
}

// Larger blocks are faster, by 3 % and more.
TEST_F(GpuMeasureTest, TheClearlySlowerLeaveARerankAfterItsFirstRounds) {
  std::vector<TrialRequest> candidates;
  for (const unsigned threads : {128, 256, 512, 1024}) {
    candidates.push_back(ready_in_blocks_of(threads));
  }
  const RerankResult result = gpu().rerank(candidates, {}, {.top = 2, .rounds = 30});
  ASSERT_EQ(result.candidates.size(), 4u);
  // The screening's leader stays, with its duplicate, whatever its time: the noise floor is theirs.
  EXPECT_FALSE(result.candidates[0].eliminated);
  EXPECT_EQ(result.candidates[0].samples_ns.size(), 30u);
  EXPECT_EQ(result.duplicate.value().samples_ns.size(), 30u);
  for (const std::size_t slower : {1, 2}) {
    EXPECT_TRUE(result.candidates[slower].eliminated);
    EXPECT_EQ(result.candidates[slower].samples_ns.size(), 6u);
    EXPECT_EQ(result.candidates[slower].outcome.status, Status::correct);
  }
  EXPECT_FALSE(result.candidates[3].eliminated);
  EXPECT_EQ(result.candidates[3].samples_ns.size(), 30u);
}

// None is clearly slower than another, so all stay until only the best `top` may.
TEST_F(GpuMeasureTest, OfEqualsTheTopGoOn) {
  std::vector<TrialRequest> candidates(5, ready("vector_add"));
  const RerankResult result = gpu().rerank(candidates, {}, {.top = 3, .rounds = 30});
  int stayed = 0;
  for (const RerankEntry& entry : result.candidates) {
    EXPECT_EQ(entry.samples_ns.size(), entry.eliminated ? 24u : 30u);
    stayed += !entry.eliminated;
  }
  EXPECT_EQ(stayed, 3);
}

TEST_F(GpuMeasureTest, TheFirstOfARerankTakesPartTwice) {
  RerankResult result = gpu().rerank({ready(), ready_in_blocks_of(256)}, {}, {.rounds = 6});
  ASSERT_TRUE(result.duplicate);
  EXPECT_EQ(result.duplicate_of, 0u);
  ASSERT_EQ(result.duplicate->samples_ns.size(), 6u);
  // To the stand-in the two are one.
  EXPECT_NEAR(result.duplicate->samples_ns[3], result.candidates[0].samples_ns[3], 1);
  // When one is dropped, the duplicate is the first that is left.
  result = gpu().rerank({ready("crash"), ready(), ready_in_blocks_of(256)}, {}, {.rounds = 6});
  ASSERT_TRUE(result.duplicate);
  EXPECT_EQ(result.duplicate_of, 1u);
  EXPECT_NEAR(result.duplicate->samples_ns[3], result.candidates[1].samples_ns[3], 1);
}

TEST_F(GpuMeasureTest, AWorkerThatDiedWhileItRestedIsReplaced) {
  TrialRequest request = ready();
  request.screened_ns = 3000;
  const auto samples = [&] {
    return gpu().rerank({request, request}, {}, {.rounds = 10}).duplicate.value().samples_ns.size();
  };
  EXPECT_EQ(samples(), 30u);
  ::kill(*children().begin(), SIGKILL);  // the first rests
  EXPECT_EQ(samples(), 30u);
  EXPECT_EQ(gpu().num_workers_started(), 4);
}

// An input of indices is not drawn anew, so a mark in it would stay.
TEST_F(GpuMeasureTest, AnInputThatIsNeverDrawnAnewMustNotChangeEither) {
  for (const char* generator : {"iota", "zeros", "ones"}) {
    TrialRequest request = ready("changes_input");
    std::get<BufferPlan>(request.plan.args[0]).generator = generator;
    EXPECT_EQ(gpu().run(request).kind, "input_modified") << generator;
  }
}

// It would copy its last result and be four times as fast. Under `sustained`, launches that only
// load the GPU follow each other as they are, and the check behind them finds what it copied there.
TEST_F(GpuMeasureTest, AResultInScratchIsNeverFoundByATimedLaunch) {
  for (const char* protocol : {"cold", "hot", "graph"}) {
    TrialRequest request = ready("reuses_scratch", protocol);
    request.plan.args.push_back(BufferPlan{"kept", DType::f32, {1001}, Role::scratch, "", {}, 0});
    request.plan.launches[0].args = {0, 1, 2, 3, 4};
    const Outcome outcome = gpu().run(request);
    EXPECT_EQ(outcome.status, Status::correct) << protocol << ": " << outcome.message;
    ASSERT_TRUE(outcome.timing) << protocol;
    EXPECT_NEAR(outcome.timing->median_ns, 2000 + 6 + 1920, 1) << protocol;
  }
}

TEST_F(GpuMeasureTest, MoreWorkThanTheGpuCanDoIsNotBelieved) {
  gpu_.emplace(options());
  Ceilings ceilings;
  ceilings.copy_bytes_per_s = ceilings.read_bytes_per_s = ceilings.l2_bytes_per_s = 4e12;
  gpu_->setup(cubin(), ceilings);
  expect_works();
  TrialRequest request = ready();
  request.plan.bytes = 1'000'000'000;
  const Outcome outcome = gpu().run(request);
  EXPECT_EQ(outcome.kind, "implausible") << outcome.message;
  EXPECT_FALSE(outcome.timing);
}

}  // namespace
}  // namespace assay
