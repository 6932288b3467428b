#include "space/plan.h"
#include "space/plan_json.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "matchers.h"
#include "message_of.h"
#include "space/test_kernel.h"

namespace assay {
namespace {

/// A contract with every form of argument.
TestKernel full_kernel() {
  TestKernel kernel({"M", "K"});
  kernel.param("BLOCK", {32, 64}).param("SPLIT", {1, 4}).param("ORDER", {"row", "column"});
  kernel.let("smem", "BLOCK * 64");
  KernelSpec& spec = kernel.spec;
  BufferSpec a{DType::bf16, kernel.exprs({"M", "K"}), Role::in, {}, false};
  a.fill = {"uniform", {{"low", kernel.expr("0 - 3")}, {"high", kernel.expr("BLOCK")}}};
  const BufferSpec c{DType::f32, kernel.exprs({"M"}), Role::out, {}, true};
  const BufferSpec partial{DType::f64, kernel.exprs({"SPLIT", "M"}), Role::scratch, {}, false};
  const TensorMapSpec map{"A", kernel.exprs({"BLOCK", "64"}), 128};
  spec.args = {{"A", a, {}},
               {"C", c, {}},
               {"partial", partial, {}},
               {"A_map", map, {}},
               {"M", ScalarSpec{DType::i32, kernel.expr("M")}, {}},
               {"C_map", TensorMapSpec{"C", kernel.exprs({"64"}), 0, kernel.expr("SPLIT > 1")}, {}},
               {"is_row", ScalarSpec{DType::u8, kernel.expr("ORDER == row")}, {}}};
  LaunchSpec main_launch{"main_entry",
                         {},
                         kernel.exprs({"cdiv(M, BLOCK)", "1", "SPLIT"}),
                         kernel.exprs({"BLOCK"}),
                         kernel.exprs({"2"}),
                         kernel.expr("smem")};
  LaunchSpec reduce{
      "reduce", kernel.expr("SPLIT > 1"), kernel.exprs({"cdiv(M, 256)"}), kernel.exprs({"256"}), {},
      {}};
  spec.launches = {main_launch, reduce};
  spec.reference = {
      {"row_sum", {{"in", "A"}, {"out", "C"}}, {{"transpose", true}, {"epsilon", 1e-5}}, {}}};
  spec.flops = kernel.expr("M * K");
  spec.bytes = kernel.expr("2 * M * K + 4 * M");
  spec.tolerance.relative = 0.1;
  spec.deterministic = false;
  return kernel;
}

const Problem kProblem = {{"M", 1000}, {"K", 128}};

Config config(std::int64_t split, const char* order = "row") {
  return {{"BLOCK", 64}, {"SPLIT", split}, {"ORDER", order}};
}

Plan full_plan(std::int64_t split = 4) {
  return make_plan(full_kernel().spec, kProblem, config(split), test_device());
}

/// What make_plan says of a kernel of one parameter SIZE after `change`.
template <typename Change>
std::string plan_error(Change change, std::int64_t size) {
  TestKernel kernel;
  kernel.param("SIZE", {size});
  kernel.spec.launches = {kernel.launch()};
  change(kernel);
  return message_of<PlanError>([&] {
    make_plan(kernel.spec, {}, {{"SIZE", size}}, test_device());
  });
}

/// `change` may set the value of SIZE from `least` to `most`, and to no other.
template <typename Change>
void expect_range(Change change, std::int64_t least, std::int64_t most) {
  EXPECT_EQ(plan_error(change, least), "") << least;
  EXPECT_NE(plan_error(change, least - 1), "") << least;
  EXPECT_EQ(plan_error(change, most), "") << most;
  EXPECT_NE(plan_error(change, most + 1), "") << most;
}

TEST(MakePlan, AStructHoldsPlacesOfItsMembers) {
  TestKernel kernel({"M"});
  kernel.spec.args = {
      {"x", kernel.buffer(DType::f32, "M", Role::in), {}},
      {"M", ScalarSpec{DType::i32, kernel.expr("M")}, {}},
      {"p", StructSpec{{{"M", {}}, {"", {DType::i64, kernel.expr("2 * M")}}, {"x", {}}}}, {}},
      {"y", kernel.buffer(DType::f32, "M", Role::out), {}}};
  kernel.spec.launches = {kernel.launch()};
  kernel.spec.launches[0].cooperative = true;
  const Plan plan = make_plan(kernel.spec, {{"M", 100}}, {}, test_device());
  EXPECT_THAT(std::get<StructPlan>(plan.args[2]).members, ElementsAre(1, 4, 0));
  EXPECT_EQ(std::get<ScalarPlan>(plan.args[4]).value, Number(std::int64_t{200}));
  EXPECT_THAT(plan.launches[0].args, ElementsAre(2, 3));  // without what the struct holds
  EXPECT_TRUE(plan.launches[0].cooperative);
  EXPECT_EQ(nlohmann::json(plan).get<Plan>(), plan);
}

TEST(MakePlan, EvaluatesEveryForm) {
  const Plan plan = full_plan();
  EXPECT_EQ(plan.kernel, "test_kernel");
  EXPECT_EQ(plan.problem, kProblem);
  EXPECT_EQ(plan.config, config(4));
  ASSERT_EQ(plan.args.size(), 7u);
  const auto& a = std::get<BufferPlan>(plan.args[0]);
  EXPECT_THAT(a.shape, ElementsAre(1000, 128));
  EXPECT_EQ(a.elements(), 128000);
  EXPECT_EQ(a.bytes(), 256000);
  EXPECT_EQ(a.generator, "uniform");
  EXPECT_EQ(a.arguments, (std::map<std::string, double>{{"high", 64}, {"low", -3}}));
  const auto& c = std::get<BufferPlan>(plan.args[1]);
  EXPECT_EQ(c.role, Role::out);
  EXPECT_TRUE(c.zeroed);
  EXPECT_EQ(c.generator, "");  // only inputs are made
  EXPECT_THAT(std::get<BufferPlan>(plan.args[2]).shape, ElementsAre(4, 1000));
  EXPECT_THAT(std::get<TensorMapPlan>(plan.args[3]).box, ElementsAre(64, 64));
  EXPECT_EQ(std::get<ScalarPlan>(plan.args[4]).value, Number(std::int64_t{1000}));
  EXPECT_THAT(std::get<TensorMapPlan>(plan.args[5]).box, ElementsAre(64));
  EXPECT_EQ(std::get<ScalarPlan>(plan.args[6]).value, Number(std::int64_t{1}));
  EXPECT_THAT(plan.launches[0].grid, ElementsAre(16, 1, 4));
  EXPECT_THAT(plan.launches[0].block, ElementsAre(64, 1, 1));
  EXPECT_THAT(plan.launches[0].cluster, ElementsAre(2, 1, 1));
  EXPECT_EQ(plan.launches[0].smem_bytes, 4096);
  EXPECT_FALSE(plan.launches[0].early);
  EXPECT_EQ(plan.launches[0].carveout, -1);
  EXPECT_EQ(plan.reference[0].operands.at("out"), "C");
  EXPECT_EQ(plan.flops, 128000);
  EXPECT_EQ(plan.bytes, 260000);
  EXPECT_EQ(plan.relative_tolerance, 0.1);
  EXPECT_EQ(plan.element_tolerance, std::nullopt);
  EXPECT_FALSE(plan.deterministic);
}

// However little of them the kernel reads.
TEST(MakePlan, InputsAreCountedWhole) { EXPECT_EQ(full_plan().input_bytes(), 2 * 1000 * 128); }

TEST(MakePlan, LeavesOutADescriptorThatIsNotWanted) {
  EXPECT_THAT(std::get<TensorMapPlan>(full_plan(1).args[5]).box, IsEmpty());
}

TEST(MakePlan, ErrorsNameKernelConfigurationExpressionAndWhatIsAllowed) {
  const auto change = [](TestKernel& kernel) {
    kernel.spec.launches[0].grid = kernel.exprs({"1", "SIZE * 2"});
  };
  EXPECT_EQ(plan_error(change, 32768),
            "entry grid.y \"SIZE * 2\" is 65536, allowed are 1 to 65535; test_kernel with "
            "SIZE=32768");
}

TEST(MakePlan, HoldsLaunchesToTheirLimits) {
  const auto extent = [](std::vector<ExprSpec> LaunchSpec::*which, std::vector<std::string> texts) {
    return [=](TestKernel& kernel) { kernel.spec.launches[0].*which = kernel.exprs(texts); };
  };
  const auto value = [](std::optional<ExprSpec> LaunchSpec::*which) {
    return [=](TestKernel& kernel) { kernel.spec.launches[0].*which = kernel.expr("SIZE"); };
  };
  expect_range(value(&LaunchSpec::early), 0, 1);
  expect_range(value(&LaunchSpec::carveout), -1, 100);
  expect_range(value(&LaunchSpec::smem_bytes), 0, 2147483647);
  expect_range(extent(&LaunchSpec::grid, {"SIZE"}), 1, 2147483647);
  expect_range(extent(&LaunchSpec::grid, {"1", "SIZE"}), 1, 65535);
  expect_range(extent(&LaunchSpec::grid, {"1", "1", "SIZE"}), 1, 65535);
  expect_range(extent(&LaunchSpec::block, {"SIZE"}), 1, 1024);
  expect_range(extent(&LaunchSpec::block, {"16", "SIZE"}), 1, 64);
  expect_range(extent(&LaunchSpec::block, {"2", "4", "SIZE"}), 1, 64);
  expect_range(extent(&LaunchSpec::cluster, {"SIZE"}), 1, 16);
  expect_range(extent(&LaunchSpec::cluster, {"2", "SIZE"}), 1, 8);
}

TEST(MakePlan, HoldsArgumentsToTheirTypes) {
  const auto scalar = [](DType dtype) {
    return [=](TestKernel& kernel) {
      kernel.spec.args = {{"n", ScalarSpec{dtype, kernel.expr("SIZE")}, {}}};
    };
  };
  EXPECT_EQ(plan_error(scalar(DType::i32), 2147483647), "");
  EXPECT_THAT(plan_error(scalar(DType::i32), 2147483648), HasSubstr("n \"SIZE\" is 2147483648"));
  EXPECT_EQ(plan_error(scalar(DType::i64), 2147483648), "");
  expect_range(scalar(DType::u8), 0, 255);
  expect_range(scalar(DType::i8), -128, 127);
  expect_range(scalar(DType::u16), 0, 65535);
  expect_range(scalar(DType::i16), -32768, 32767);
  expect_range(scalar(DType::u32), 0, 4294967295);
  EXPECT_EQ(plan_error(scalar(DType::u64), INT64_MAX), "");
  EXPECT_NE(plan_error(scalar(DType::u64), -1), "");
  EXPECT_EQ(plan_error(scalar(DType::i64), INT64_MIN), "");
  const auto box = [](TestKernel& kernel) {
    kernel.spec.args = {{"map", TensorMapSpec{"A", kernel.exprs({"SIZE"}), 0}, {}}};
  };
  expect_range(box, 1, 256);
}

TEST(MakePlan, ARealScalarIsDividedExactly) {
  const auto value_of = [](DType dtype, const std::string& text) {
    TestKernel kernel({"K"});
    const ExprSpec value{Expr::parse_real(text, kernel.spec.symbols), {}};
    kernel.spec.args = {{"x", ScalarSpec{dtype, value}, {}}};
    const Plan plan = make_plan(kernel.spec, {{"K", 64}}, {}, test_device());
    // What a worker gets.
    const Plan sent = nlohmann::json::from_cbor(nlohmann::json::to_cbor(plan)).get<Plan>();
    EXPECT_EQ(sent, plan);
    return std::get<double>(std::get<ScalarPlan>(sent.args[0]).value);
  };
  EXPECT_EQ(value_of(DType::f32, "7 / 4"), 1.75);
  EXPECT_EQ(value_of(DType::f64, "1 / sqrt(K)"), 0.125);
  EXPECT_EQ(value_of(DType::f16, "2"), 2.0);
  EXPECT_THROW(value_of(DType::f16, "K * 1024"), PlanError);
  EXPECT_THROW(value_of(DType::f32, "1e-60 / K"), PlanError);
  EXPECT_THROW(value_of(DType::f32, "1 / (K - 64)"), PlanError);
}

TEST(MakePlan, AReferencesOwnKernelHasItsArgumentsAndItsLaunch) {
  TestKernel kernel = full_kernel();
  ReferenceKernelSpec own;
  own.source = "folder/ref.cu";
  own.entry = "rows";
  own.args = {{"A", Role::in, DType::bf16, {}},
              {"M", Role::in, DType::i32, {}},
              {"wide", Role::out, DType::f64, kernel.exprs({"M", "2 * K"}), true},
              {"C", Role::out, DType::f32, {}}};
  own.grid = kernel.exprs({"cdiv(M, 100)", "2"});
  own.block = kernel.exprs({"100"});
  own.sum_length = kernel.expr("K");
  kernel.spec.reference = {{"kernel", {}, {}, {}, own, {}}, {"relu", {}, {}, {}, {}, DType::f16}};
  const Plan plan = make_plan(kernel.spec, kProblem, config(1), test_device());
  EXPECT_EQ(nlohmann::json::parse(nlohmann::json(plan).dump()).get<Plan>(), plan);
  EXPECT_EQ(plan.reference[1].round, DType::f16);
  const ReferenceKernelPlan& made = plan.reference[0].kernel.value();
  EXPECT_EQ(made.source, "ref.cu");
  EXPECT_EQ(made.sum_length, 128);
  EXPECT_EQ(made.launch.entry, "rows");
  EXPECT_THAT(made.launch.grid, ElementsAre(10, 2, 1));
  EXPECT_THAT(made.launch.block, ElementsAre(100, 1, 1));
  ASSERT_EQ(made.args.size(), 4u);
  const auto& a = std::get<BufferPlan>(made.args[0]);
  EXPECT_EQ(a.role, Role::in);
  EXPECT_THAT(a.shape, ElementsAre(1000, 128));
  EXPECT_EQ(std::get<ScalarPlan>(made.args[1]).value, Number(std::int64_t{1000}));
  const auto& wide = std::get<BufferPlan>(made.args[2]);
  EXPECT_EQ(wide.role, Role::out);
  EXPECT_EQ(wide.dtype, DType::f64);
  EXPECT_TRUE(wide.zeroed);
  EXPECT_THAT(wide.shape, ElementsAre(1000, 256));
  const auto& c = std::get<BufferPlan>(made.args[3]);
  EXPECT_THAT(c.shape, ElementsAre(1000));
  EXPECT_EQ(c.zeroed, 1000);  // as the kernel's own
}

// What such a kernel reads has no shape of its own, and the last side of that was looked at.
TEST(MakePlan, AReferencesOwnKernelMayReadE2m1) {
  TestKernel kernel = full_kernel();
  ReferenceKernelSpec own;
  own.args = {{"A", Role::in, DType::e2m1, {}}};
  own.grid = own.block = kernel.exprs({"1"});
  kernel.spec.reference = {{"kernel", {}, {}, {}, own}};
  EXPECT_NO_THROW(make_plan(kernel.spec, kProblem, config(1), test_device()));
}

TEST(MakePlan, HoldsShapesToWhatCanBeCounted) {
  const auto shape = [](std::vector<std::string> texts) {
    return [=](TestKernel& kernel) {
      kernel.spec.args = {
          {"A", BufferSpec{DType::f32, kernel.exprs(texts), Role::out, {}, false}, {}}};
    };
  };
  EXPECT_EQ(plan_error(shape({"SIZE"}), 1), "");
  EXPECT_THAT(plan_error(shape({"4", "SIZE"}), 0), HasSubstr("dimension 1 of A \"SIZE\" is 0"));
  EXPECT_NE(plan_error(shape({"SIZE"}), -4), "");
  EXPECT_THAT(plan_error(shape({"SIZE", "SIZE"}), 3037000499), HasSubstr("A has more than"));
  EXPECT_NE(plan_error(shape({"8 / (SIZE - 5)"}), 5), "");
}

TEST(MakePlan, AnInputMayBeATexture) {
  TestKernel kernel = full_kernel();
  auto& a = std::get<BufferSpec>(kernel.spec.args[0].form);  // bf16, but for this all is one
  a.texture = TextureSpec{1, true, AddressMode::wrap, true};
  const auto plan_of = [&] { return make_plan(kernel.spec, kProblem, config(4), test_device()); };
  const Plan plan = plan_of();
  EXPECT_EQ(std::get<BufferPlan>(plan.args[0]).texture, a.texture);
  EXPECT_EQ(nlohmann::json::parse(nlohmann::json(plan).dump()).get<Plan>(), plan);
  EXPECT_THAT(plan.launches[0].args, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  const auto mistake = [&] { return message_of<PlanError>(plan_of); };
  a.shape = kernel.exprs({"M", "3"});
  EXPECT_THAT(mistake(), HasSubstr("the rows of A have 6 bytes; a texture of 2 dimensions needs a "
                                   "multiple of 32"));
  a.texture->channels = 4;
  EXPECT_THAT(mistake(), HasSubstr("A has texels of 4 channels, but its last dimension is 3"));
  a.shape = kernel.exprs({"M", "4"});
  EXPECT_EQ(mistake(), "") << "what has one dimension has no rows";
}

TEST(MakePlan, BuffersMayBePartlyClearedCopiedAndChecked) {
  TestKernel kernel = full_kernel();
  auto& c = std::get<BufferSpec>(kernel.spec.args[1].form);
  EXPECT_EQ(std::get<BufferPlan>(full_plan().args[1]).zeroed, 1000);
  c.zeroed_elements = kernel.expr("K");
  c.check = {kernel.expr("M - 1"), true, false};
  std::get<BufferSpec>(kernel.spec.args[2].form).copy_of = "A";
  auto& a = std::get<BufferSpec>(kernel.spec.args[0].form);
  a.symbol = "constant";
  a.shape = kernel.exprs({"M", "SPLIT"});
  a.fill = {"normal", {{"std", {Expr::parse_real("1 / 4 * SPLIT", kernel.spec.symbols), {}}}}};
  const auto plan_of = [&] { return make_plan(kernel.spec, kProblem, config(4), test_device()); };
  const Plan plan = plan_of();
  EXPECT_EQ(nlohmann::json::parse(nlohmann::json(plan).dump()).get<Plan>(), plan);
  EXPECT_EQ(std::get<BufferPlan>(plan.args[0]).arguments.at("std"), 1);
  EXPECT_EQ(std::get<BufferPlan>(plan.args[1]).zeroed, 128);
  EXPECT_EQ(std::get<BufferPlan>(plan.args[1]).checked, 999);
  EXPECT_TRUE(std::get<BufferPlan>(plan.args[1]).check_sorted);
  EXPECT_EQ(std::get<BufferPlan>(plan.args[2]).copy_of, "A");
  EXPECT_THAT(plan.launches[0].args, ElementsAre(1, 2, 3, 4, 5, 6));  // a symbol is not passed
  c.zeroed_elements = kernel.expr("M + 1");
  EXPECT_THROW(plan_of(), PlanError);
  c.zeroed_elements.reset();
  c.check.first = kernel.expr("M - 1000");
  EXPECT_THROW(plan_of(), PlanError);
  c.check.first.reset();
  EXPECT_NO_THROW(plan_of());
  a.shape = kernel.exprs({"M", "3"});
  EXPECT_THROW(plan_of(), PlanError);  // the copy has another size
}

TEST(MakePlan, ALetWithoutAnAnswerMattersOnlyWhereItIsRead) {
  const auto unread = [](TestKernel& kernel) { kernel.let("ratio", "8 / SIZE"); };
  EXPECT_EQ(plan_error(unread, 0), "");
  const auto read = [](TestKernel& kernel) {
    kernel.let("ratio", "8 / SIZE");
    kernel.spec.flops = kernel.expr("2 * ratio");
  };
  EXPECT_EQ(plan_error(read, 4), "");
  EXPECT_THAT(plan_error(read, 0), HasSubstr("work.flops: \"2 * ratio\" reads ratio"));
}

TEST(MakePlan, AConfigurationOfAnotherKernelIsTheCallersMistake) {
  const KernelSpec spec = full_kernel().spec;
  const auto plan = [&](const Problem& problem, const Config& given) {
    return make_plan(spec, problem, given, test_device());
  };
  Config more = config(1);
  more.emplace_back("STAGES", 2);
  EXPECT_THROW(plan(kProblem, {{"BLOCK", 64}}), UsageError);
  EXPECT_THROW(plan(kProblem, more), UsageError);
  EXPECT_THROW(plan(kProblem, config(1, "diagonal")), UsageError);
  EXPECT_THROW(plan({{"M", 4}}, config(1)), UsageError);
}

TEST(PlanJson, RoundTrips) {
  for (std::int64_t split : {1, 4}) {
    Plan plan = full_plan(split);
    plan.element_tolerance = 1.0 / 3;
    plan.bytes = INT64_MAX;
    const std::string text = nlohmann::json(plan).dump();
    EXPECT_EQ(nlohmann::json::parse(text).get<Plan>(), plan) << text;
  }
  const Plan empty;
  EXPECT_EQ(nlohmann::json::parse(nlohmann::json(empty).dump()).get<Plan>(), empty);
}

TEST(PlanJson, RefusesWhatItDidNotWrite) {
  const nlohmann::json good = full_plan();
  const auto refuses = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = value;
    EXPECT_ANY_THROW(bad.get<Plan>()) << pointer;
  };
  refuses("/args/0/form", "texture");
  refuses("/args/0/dtype", "f8");
  refuses("/args/0/role", "output");
  refuses("/args/0/shape", "wide");
  refuses("/launches/0/grid", nlohmann::json::array({1, 1}));
  refuses("/config", nlohmann::json::array({{"A"}}));
  nlohmann::json lacking = good;
  lacking.erase("deterministic");
  EXPECT_ANY_THROW(lacking.get<Plan>());
}

}  // namespace
}  // namespace assay
