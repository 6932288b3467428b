#include <gtest/gtest.h>

#include "space/plan.h"
#include "space/test_kernel.h"
#include "spec/loaded_kernels.h"

namespace assay {
namespace {

TEST(PlanTraits, AreReadByExpressionsFillsScalarsAndOperations) {
  const KernelSpec spec =
      load_text("sparse",
                "kernel: sparse\nop: sparse\narch: [80]\ndims: [N]\n"
                "traits: {density: 0.25, skew: 0, eps: 1e-6}\n"
                "let: {nonzeros: round(density * N * N)}\nconstraints: [nonzeros > 0]\n"
                "args:\n  - {name: X, dtype: f32, shape: [N], role: in}\n"
                "  - {name: S, dtype: i32, shape: [N + 1], role: in,\n"
                "     fill: {name: row_starts, nonzeros: nonzeros, skew: skew + 1}}\n"
                "  - {name: eps, dtype: f32, value: eps}\n"
                "  - {name: C, dtype: f32, shape: [N], role: out}\n"
                "launches: [{grid: [1], block: [32]}]\nwork: {flops: 0, bytes: 0}\n"
                "reference: [{rms_norm: {x: X, epsilon: eps, out: C}}]\nsmoke: {N: 100}\n");
  Problem problem = spec.smoke;
  problem[2].second = 0.5;
  const auto plan_of = [&] { return make_plan(spec, problem, {}, test_device()); };
  const Plan plan = plan_of();
  EXPECT_EQ(plan.find_buffer("S")->arguments.at("nonzeros"), 2500);
  EXPECT_EQ(plan.find_buffer("S")->arguments.at("skew"), 1.5);
  EXPECT_EQ(std::get<ScalarPlan>(*plan.find_arg("eps")).value, Number(1e-6));
  EXPECT_EQ(std::get<double>(plan.reference[0].options.at("epsilon")), 1e-6);
  problem[0].second = 100.5;
  EXPECT_THROW(plan_of(), UsageError);  // a size is an integer
  problem[0].second = std::int64_t{100};
  problem[3].second = std::int64_t{0};
  EXPECT_THROW(plan_of(), PlanError);  // no epsilon of 0
  problem.pop_back();
  EXPECT_THROW(plan_of(), UsageError);
}

}  // namespace
}  // namespace assay
