// References on the stand-in GPU, where a kernel of a reference is one of the stand-in's own.
#include "gpu_device_fixture.h"

namespace assay {
namespace {

class GpuReferenceTest : public GpuDeviceTest {
 protected:
  /// vector_add, judged by `entry`.
  TrialRequest judged_by(const std::string& entry) const {
    TrialRequest request = ready();
    ReferenceKernelPlan kernel;
    kernel.source = "ref.cu";
    kernel.cubin_path = cubin().string();
    kernel.args = request.plan.args;
    kernel.launch = request.plan.launches[0];
    kernel.launch.entry = entry;
    request.plan.reference = {{"kernel", {}, {}, kernel, {}}};
    return request;
  }
};

// Of two kernels of one op, the second was once judged by what the first one's reference had made,
// though its own starts from another output or passes another number.
TEST_F(GpuReferenceTest, KernelsShareAReferenceOnlyIfItDoesTheSame) {
  const auto adding = [&](std::int64_t n, std::int64_t zeroed) {
    TrialRequest request = judged_by("vector_add");
    const auto change = [&](std::vector<ArgPlan>& args) {
      std::get<BufferPlan>(args[2]).zeroed = zeroed;
      std::get<ScalarPlan>(args[3]).value = n;
    };
    change(request.plan.args);
    change(request.plan.reference[0].kernel->args);
    return request;
  };
  const Outcome zeroed = gpu().run(adding(999, 1000));
  EXPECT_EQ(zeroed.status, Status::correct) << zeroed.message;
  EXPECT_THAT(gpu().run(adding(999, 0)).message, HasSubstr("did not write 1 of the 1000 elements"));
  const Outcome longer = gpu().run(adding(1000, 1000));
  EXPECT_EQ(longer.status, Status::correct) << longer.message;
}

// Three passes of one step: A + B to the scratch, that + B to C, that + B to the scratch, and so
// on.
TEST_F(GpuReferenceTest, AStepMakesPassesOverScratchAsAConfigurationAsksFor) {
  TrialRequest request = judged_by("vector_add");
  ReferenceKernelPlan& step = *request.plan.reference[0].kernel;
  auto spare = std::get<BufferPlan>(step.args[2]);
  spare.name = "spare";
  spare.role = Role::scratch;
  step.args.emplace_back(spare);
  request.plan.args.emplace_back(spare);
  LaunchPlan launch = request.plan.launches[0];
  const std::vector<std::vector<std::size_t>> passes = {{0, 1, 4, 3}, {4, 1, 2, 3}};
  for (const std::size_t count : {2, 1}) {
    request.plan.launches.clear();
    step.passes.assign(passes.end() - static_cast<std::ptrdiff_t>(count), passes.end());
    step.passes[0][0] = 0;
    for (const auto& pass : step.passes) {
      launch.args = pass;
      request.plan.launches.push_back(launch);
    }
    const Outcome outcome = gpu().run(request);
    EXPECT_EQ(outcome.status, Status::correct) << count << outcome.message;
    request.plan.launches.push_back(launch);
    request.plan.launches.back().args = {2, 1, 2, 3};
    EXPECT_EQ(gpu().run(request).kind, "mismatch") << count;
  }
  // What it left in its scratch from the run before is nothing to rely on.
  step.passes = {{4, 1, 2, 3}};
  EXPECT_THAT(gpu().run(request).message, HasSubstr("and then nan of C[0]"));
}

TEST_F(GpuReferenceTest, AToleranceThatAcceptsACopyOfAnInputIsRefused) {
  TrialRequest request = ready();
  request.plan.relative_tolerance = 0.9;
  EXPECT_EQ(gpu().run(request).status, Status::correct);  // the bounds of the elements hold
  request.plan.element_tolerance = 1e9;
  const Outcome outcome = gpu().run(request);
  EXPECT_EQ(outcome.kind, "oracle");
  EXPECT_THAT(outcome.message,
              HasSubstr("the tolerance accepts a copy of A for C, which is off by"));
}

}  // namespace
}  // namespace assay
