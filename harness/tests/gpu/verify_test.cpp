// The checks of `assay verify`, on a real GPU.
#include <gmock/gmock.h>

#include "gpu_fixture.h"
#include "worker/trial_runner.h"

namespace assay {
namespace {

class VerifyTest : public test::RunnerTest {
 protected:
  Outcome verify(const KernelSpec& kernel, const std::string& check, int count) {
    return runner_->verify(request_of(kernel, runner_->info()), {check, count, 60});
  }
};

TEST_F(VerifyTest, AGoodKernelPasses) {
  for (const char* name : {"vector_add", "sgemm", "softmax"}) {
    const std::string folder = std::string(name) == "softmax" ? "examples/" : "";
    const KernelSpec kernel = shipped_kernel(folder + name);
    for (const auto& [check, count] : {std::pair{"data", test::is_emulated() ? 1 : 4},
                                       std::pair{"launches", 200}, std::pair{"streams", 200}}) {
      if (test::is_emulated() && check != std::string("data")) continue;
      const Outcome outcome = verify(kernel, check, count);
      EXPECT_EQ(outcome.status, Status::correct) << name << " " << check << ": " << outcome.message;
      EXPECT_THAT(outcome.message, testing::StartsWith(std::to_string(count))) << name;
      // The others may be exact: a product whose terms are added in the order of cuBLAS is.
      if (name == std::string("softmax") && check == std::string("data")) {
        EXPECT_THAT(outcome.message, testing::HasSubstr("relative error"));
      }
    }
  }
}

TEST_F(VerifyTest, AContractThatAcceptsAnythingIsFoundOut) {
  const KernelSpec kernel = shipped_kernel("sgemm");
  const Outcome good = verify(kernel, "contract", 1);
  EXPECT_EQ(good.status, Status::correct) << good.message;
  TrialRequest request = request_of(kernel, runner_->info());
  request.plan.relative_tolerance = 10;
  request.plan.element_tolerance = 1e9;
  const Outcome vacuous = runner_->verify(request, {"contract", 1, 60});
  EXPECT_EQ(vacuous.kind, "vacuous") << vacuous.message;
  for (const char* what : {"zeros", "a constant", "the output of other inputs", "out of place"}) {
    EXPECT_THAT(vacuous.message, testing::HasSubstr(what));
  }
}

// The rows of one token's experts are row 0 whatever its inputs are. An audit that took the right
// output for a wrong one that was accepted convicted `moe_route` of one token.
TEST_F(VerifyTest, AnOutputThatHappensToBeRightIsNoMistakeOfTheContract) {
  KernelSpec kernel = shipped_kernel("moe_route");
  kernel.smoke = {{"M", 1}, {"E", 8}, {"TOP", 2}, {"HIT", 2}, {"skew", 0}};
  const TrialRequest request = request_of(kernel, runner_->info());
  const Outcome outcome = runner_->verify(request, {"contract", 1, 60});
  EXPECT_EQ(outcome.status, Status::correct) << outcome.message;
}

// Sums of other inputs are within 1.5 % of a sum of 1,000 numbers of 0 to 1 in two of five draws.
// One draw decided, and convicted the reduction.
TEST_F(VerifyTest, AnOutputOfOtherInputsThatIsNearByChanceIsNoMistakeOfTheContract) {
  KernelSpec kernel = shipped_kernel("examples/reduction");
  kernel.smoke = {{"N", 1000}};
  TrialRequest request = request_of(kernel, runner_->info());
  request.plan.relative_tolerance = 0.015;
  request.plan.element_tolerance = 1e9;
  for (request.seed = 1; request.seed <= 8; ++request.seed) {
    const Outcome outcome = runner_->verify(request, {"contract", 1, 60});
    EXPECT_EQ(outcome.status, Status::correct) << outcome.message;
  }
}

TEST_F(VerifyTest, TwoLaunchesThatShareACounterAreFoundOut) {
  if (test::needs_a_gpu("launches that run at once")) return;
  const KernelSpec kernel = broken_kernel("shares_a_counter");
  EXPECT_EQ(verify(kernel, "launches", 200).status, Status::correct);
  const Outcome outcome = verify(kernel, "streams", 20);
  EXPECT_EQ(outcome.status, Status::correctness) << outcome.message;
  EXPECT_THAT(outcome.message, testing::HasSubstr("two launches ran at once"));
}

TEST_F(VerifyTest, ARareMistakeIsFoundOut) {
  if (test::needs_a_gpu("blocks that race")) return;
  const Outcome outcome = verify(broken_kernel("racy"), "launches", 1000);
  EXPECT_EQ(outcome.status, Status::correctness) << outcome.message;
  EXPECT_THAT(outcome.message, testing::HasSubstr("; launch "));
}

}  // namespace
}  // namespace assay
