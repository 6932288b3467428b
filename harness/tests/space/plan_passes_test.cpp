// Launches that are repeated.

#include "matchers.h"
#include "space/plan.h"
#include "space/test_kernel.h"
#include "spec/loaded_kernels.h"

namespace assay {
namespace {

/// What each launch of a kernel with x, a and b passes, when it is repeated: "xa ab ba".
std::string turns(std::int64_t passes, bool in_group) {
  TestKernel kernel;
  for (const char* name : {"x", "a", "b"}) {
    kernel.spec.args.push_back({name, kernel.buffer(DType::f32, "1", Role::in), {}});
  }
  LaunchSpec launch = kernel.launch();
  launch.args = {{{"x", "a", "b"}}, {{"a", "b"}}};
  launch.repeat = kernel.expr(std::to_string(passes));
  kernel.spec.launches = {launch, launch};
  kernel.spec.launches[1].group = in_group ? 0 : 1;
  const Plan plan = make_plan(kernel.spec, {}, {}, test_device());
  std::string text;
  for (const LaunchPlan& each : plan.launches) {
    text += text.empty() ? "" : " ";
    for (const std::size_t arg : each.args) text += std::get<BufferPlan>(plan.args[arg]).name;
  }
  return text;
}

TEST(MakePlan, EachPassReadsWhatTheOneBeforeWroteAndTheLastWritesTheLastBuffer) {
  EXPECT_EQ(turns(1, false), "xb xb");
  EXPECT_EQ(turns(2, false), "xa ab xa ab");
  EXPECT_EQ(turns(2, true), "xa xa ab ab");
  EXPECT_EQ(turns(3, true), "xb xb ba ba ab ab");
  EXPECT_EQ(turns(4, false), "xa ab ba ab xa ab ba ab");
}

// Two configurations shared one reference, whatever their steps were.
TEST(MakePlan, AReferenceMakesThePassesThatItsConfigurationAsksFor) {
  TestKernel kernel;
  kernel.spec.args = {{"x", kernel.buffer(DType::f32, "1", Role::in), {}},
                      {"y", kernel.buffer(DType::f32, "1", Role::out), {}}};
  kernel.spec.launches = {kernel.launch()};
  ReferenceKernelSpec step;
  step.entry = "step";
  step.args = {{"x", Role::in, DType::f32, {}},
               {"spare", Role::scratch, DType::f32, kernel.exprs({"1"})},
               {"y", Role::out, DType::f32, {}}};
  step.grid = step.block = kernel.exprs({"1"});
  step.turns = {{"x", "spare", "y"}, {"spare", "y"}};
  const auto steps_of = [&](const char* passes) {
    step.repeat = kernel.expr(passes);
    kernel.spec.reference = {{"kernel", {}, {}, {}, step}};
    return make_plan(kernel.spec, {}, {}, test_device()).reference;
  };
  const ReferenceKernelPlan three = steps_of("3")[0].kernel.value();
  EXPECT_THAT(three.passes, ElementsAre(ElementsAre(0, 2), ElementsAre(2, 1), ElementsAre(1, 2)));
  EXPECT_EQ(std::get<BufferPlan>(three.args[1]).role, Role::scratch);
  EXPECT_NE(steps_of("3"), steps_of("2"));
  EXPECT_THROW(steps_of("501"), PlanError);
}

TEST(MakePlan, ThePassIsANumberInItsLaunches) {
  TestKernel kernel;
  Symbols symbols = kernel.spec.symbols;
  symbols.add("pass");
  const auto expr = [&](const char* text) { return ExprSpec{Expr::parse(text, symbols), {}}; };
  LaunchSpec launch{"step", expr("pass != 2"), {expr("pass + 1")}, kernel.exprs({"32"}), {}, {}};
  launch.args = {{{}, {DType::u8, expr("100 * pass")}}};
  const auto plan_of = [&](const std::string& passes) {
    launch.repeat = kernel.expr(passes);
    kernel.spec.launches = {launch};
    return make_plan(kernel.spec, {}, {}, test_device());
  };
  const Plan plan = plan_of("2");
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_THAT(plan.launches[1].grid, ElementsAre(2, 1, 1));
  EXPECT_EQ(std::get<ScalarPlan>(plan.args[plan.launches[1].args[0]]).value,
            Number(std::int64_t{100}));
  EXPECT_EQ(plan_of("3").launches.size(), 2u);  // a launch that is skipped passes nothing
  EXPECT_THROW(plan_of("4"), PlanError);        // 300 is no u8
  launch.args.reset();
  EXPECT_EQ(plan_of("500").launches.size(), 499u);
  EXPECT_THROW(plan_of("0"), PlanError);
  EXPECT_THROW(plan_of("501"), PlanError);
  kernel.spec.launches = {launch, launch};
  EXPECT_THROW(make_plan(kernel.spec, {}, {}, test_device()), PlanError);
}

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

// In a sweep, `minimize memory_bytes` is of the buffers that a configuration launches on.
TEST(MemoryNeed, IsOfWhatTheLaunchesGet) {
  Plan plan;
  plan.args = {BufferPlan{"x", DType::f32, {512, 8}, Role::in, "normal", {}},
               BufferPlan{"y", DType::f32, {512, 8}, Role::out, "", {}}};
  plan.args.push_back(
      BufferPlan{"only_a_baseline_reads_it", DType::f32, {9}, Role::in, "normal", {}});
  plan.args.push_back(BufferPlan{"by_a_descriptor", DType::f32, {4, 4}, Role::in, "normal", {}});
  plan.args.push_back(TensorMapPlan{"map", "by_a_descriptor", {4, 4}, 0});
  plan.launches = {{"kernel"}};
  plan.launches[0].args = {0, 1, 4};
  EXPECT_EQ(memory_bytes(plan), 4 * (2 * 512 * 8 + 4 * 4));
}

}  // namespace
}  // namespace assay
