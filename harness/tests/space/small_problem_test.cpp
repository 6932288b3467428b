#include "space/small_problem.h"

#include <filesystem>
#include <string>

#include "matchers.h"
#include "space/space.h"
#include "space/test_kernel.h"
#include "spec/kernel_spec.h"

namespace assay {
namespace {

const Problem kSmoke = {{"M", std::int64_t{19}}, {"N", std::int64_t{70}}};

/// A kernel of two sizes, whose configurations can run where `constraint` holds.
KernelSpec kernel_for(const std::string& constraint) {
  TestKernel kernel({"M", "N"});
  kernel.param("TILE", {std::int64_t{64}}).constraint(constraint);
  kernel.spec.smoke = kSmoke;
  return kernel.spec;
}

std::string small(const KernelSpec& kernel, std::int64_t m, std::int64_t n) {
  const auto found =
      small_problem(kernel, {{"M", m}, {"N", n}}, {{"TILE", std::int64_t{64}}}, test_device());
  return found ? to_text(*found) : "none";
}

TEST(SmallProblem, IsTheSmokeProblemWhereThatRuns) {
  EXPECT_EQ(small(kernel_for("M > 1"), 4096, 4096), "M=19,N=70");
  EXPECT_EQ(small(kernel_for("M > 1"), 19, 70), "M=19,N=70");
}

TEST(SmallProblem, TakesASizeOfTheProblemWhereNoOtherWillDo) {
  EXPECT_EQ(small(kernel_for("M <= 4"), 1, 4096), "M=1,N=70");
  EXPECT_EQ(small(kernel_for("M == 100"), 100, 4096), "M=100,N=70");
  EXPECT_EQ(small(kernel_for("N % 64 == 0"), 19, 4096), "M=19,N=2240");  // 32 * 70
}

TEST(SmallProblem, IsNeverTheProblemItself) {
  EXPECT_EQ(small(kernel_for("M == 100 && N == 200"), 100, 200), "none");
  EXPECT_EQ(small(kernel_for("M > 5000"), 4096, 4096), "none");
  EXPECT_EQ(small(kernel_for("M / (M - M) > 0"), 4096, 4096), "none");
}

// A sweep of several kernels gives each of them the sizes of all. Such a kernel had only its smoke
// problem.
TEST(SmallProblem, LeavesOutTheNamesOfOtherKernels) {
  const Problem shared = {
      {"K", std::int64_t{64}}, {"N", std::int64_t{4096}}, {"M", std::int64_t{4096}}};
  const auto found =
      small_problem(kernel_for("M >= TILE"), shared, {{"TILE", std::int64_t{64}}}, test_device());
  ASSERT_TRUE(found);
  EXPECT_EQ(to_text(*found), "M=76,N=70");
}

// A constraint may forget what a launch cannot have.
TEST(SmallProblem, HasALaunchThatCanBePlanned) {
  TestKernel kernel({"N"});
  kernel.spec.smoke = {{"N", std::int64_t{70}}};
  kernel.spec.launches = {kernel.launch()};
  kernel.spec.launches[0].grid = kernel.exprs({"N / 100"});
  const auto found = small_problem(kernel.spec, {{"N", std::int64_t{4096}}}, {}, test_device());
  ASSERT_TRUE(found);
  EXPECT_EQ(to_text(*found), "N=140");
  EXPECT_THAT(obstacle(kernel.spec, kernel.spec.smoke, {}, test_device()),
              AllOf(StartsWith("N=70: "), HasSubstr("grid")));
}

// Sizes of which there are many, and none that can run: the search for one ends.
TEST(SmallProblem, ManyNamesTakeNoLongTime) {
  TestKernel kernel({"A", "B", "C", "D", "E", "F", "G", "H"});
  kernel.constraint("A + B < 0");
  Problem problem;
  for (const std::string& dim : kernel.spec.dims) {
    kernel.spec.smoke.emplace_back(dim, std::int64_t{1});
    problem.emplace_back(dim, std::int64_t{1} << 40);
  }
  EXPECT_EQ(small_problem(kernel.spec, problem, {}, test_device()), std::nullopt);
}

// Of the winners of the shipped sweeps 94 of 147 did not run on the smoke problem of their kernel,
// so that most of `assay verify`, and all of compute-sanitizer, was skipped.
TEST(SmallProblem, IsThereForASparseLayersWinner) {
  const KernelSpec kernel =
      load_kernel(std::filesystem::path(ASSAY_SOURCE_DIR) / "kernels/sparse_ffn.yaml");
  const Problem problem = parse_problem("M=16,F=11008,K=4096,density=0.05,block=1");
  const Config config = parse_config(
      "WARPS=4,UP_M=16,UP_N=16,UP_K=128,UP_STAGES=4,UP_CLUSTER=8,DOWN_M=16,DOWN_N=128,DOWN_Q=32,"
      "DOWN_STAGES=3,DOWN_CLUSTER=8,DOWN_BEGINS=when_asked,REHEARSE=0");
  EXPECT_TRUE(Space(kernel, kernel.smoke, test_device()).broken_constraint(config));
  const auto found = small_problem(kernel, problem, config, test_device());
  ASSERT_TRUE(found);
  EXPECT_FALSE(Space(kernel, *found, test_device()).broken_constraint(config));
  EXPECT_NE(*found, problem);
}

}  // namespace
}  // namespace assay
