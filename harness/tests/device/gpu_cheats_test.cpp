// Kernels that cheat, on the stand-in GPU: what the instrument does between launches finds them out
// without a GPU, too. harness/tests/kernels/broken has many more for a GPU.
#include "gpu_device_fixture.h"

namespace assay {
namespace {

using GpuCheatsTest = GpuDeviceTest;

TEST_F(GpuCheatsTest, AreFoundByTheirNames) {
  const std::tuple<const char*, const char*, const char*> cheats[] = {
      {"racy", "nondeterministic", "two launches on the same inputs"},
      // Inputs lie where they lay, and hold other numbers.
      {"remembers_by_pointer", "mismatch", "C["},
      {"writes_ahead", "out_of_bounds", "C"},
  };
  for (const auto& [entry, kind, message] : cheats) {
    const Outcome outcome = run(entry);
    EXPECT_EQ(outcome.status, Status::correctness) << entry;
    EXPECT_EQ(outcome.kind, kind) << entry << ": " << outcome.message;
    EXPECT_THAT(outcome.message, HasSubstr(message)) << entry;
    EXPECT_FALSE(outcome.timing) << entry;
    expect_works();
  }
}

// An input of indices is not drawn anew, so a mark in it would stay.
TEST_F(GpuCheatsTest, AnInputThatIsNeverDrawnAnewMustNotChangeEither) {
  for (const char* generator : {"iota", "zeros", "ones"}) {
    TrialRequest request = ready("changes_input");
    std::get<BufferPlan>(request.plan.args[0]).generator = generator;
    EXPECT_EQ(gpu().run(request).kind, "input_modified") << generator;
  }
}

/// vector_add's request for `entry`, which gets scratch memory as well.
TrialRequest with_scratch(TrialRequest request) {
  request.plan.args.push_back(BufferPlan{"kept", DType::f32, {1001}, Role::scratch, "", {}, 0});
  request.plan.launches[0].args = {0, 1, 2, 3, 4};
  return request;
}

// Scratch outlives no launch: a flag that says that the work is done is never what a launch left.
TEST_F(GpuCheatsTest, AFlagInScratchIsNotBelievedForLong) {
  EXPECT_EQ(gpu().run(with_scratch(ready("trusts_a_flag"))).kind, "unwritten");
}

// It would copy its last result and be four times as fast. Under `sustained`, launches that only
// load the GPU follow each other as they are, and the check behind them finds what it copied there.
TEST_F(GpuCheatsTest, AResultInScratchIsNeverFoundByATimedLaunch) {
  for (const char* protocol : {"cold", "hot", "graph"}) {
    TrialRequest request = with_scratch(ready("reuses_scratch", protocol));
    const Outcome outcome = gpu().run(request);
    EXPECT_EQ(outcome.status, Status::correct) << protocol << ": " << outcome.message;
    ASSERT_TRUE(outcome.timing) << protocol;
    EXPECT_NEAR(outcome.timing->median_ns, 2000 + 6 + 1920, 1) << protocol;
  }
}

TEST_F(GpuCheatsTest, MoreWorkThanTheGpuCanDoIsNotBelieved) {
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
