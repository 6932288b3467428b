// Launches that are repeated.
#include <gmock/gmock.h>

#include "space/plan.h"
#include "space/test_kernel.h"

namespace assay {
namespace {

using testing::ElementsAre;

/// What each launch of a kernel with x, a and b passes, when it is repeated: "xa ab ba".
std::string turns(std::int64_t passes, bool in_group) {
  TestKernel kernel;
  for (const char* name : {"x", "a", "b"}) {
    kernel.spec.args.push_back(
        {name, BufferSpec{DType::f32, kernel.exprs({"1"}), Role::in, {}, false}, {}});
  }
  LaunchSpec launch{"step", {}, kernel.exprs({"1"}), kernel.exprs({"32"}), {}, {}};
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
  kernel.spec.args.push_back(
      {"x", BufferSpec{DType::f32, kernel.exprs({"1"}), Role::in, {}, false}, {}});
  kernel.spec.args.push_back(
      {"y", BufferSpec{DType::f32, kernel.exprs({"1"}), Role::out, {}, false}, {}});
  kernel.spec.launches = {{"step", {}, kernel.exprs({"1"}), kernel.exprs({"32"}), {}, {}}};
  ReferenceKernelSpec step;
  step.entry = "step";
  step.args = {{"x", false, false, false, DType::f32, {}},
               {"spare", false, true, false, DType::f32, kernel.exprs({"1"})},
               {"y", true, false, false, DType::f32, {}}};
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

}  // namespace
}  // namespace assay
