// How inputs are made, in a plan.
#include "matchers.h"
#include "message_of.h"
#include "space/plan_json.h"
#include "space/test_kernel.h"
#include "spec/kernel_spec.h"
#include "temp_folder.h"

namespace assay {
namespace {

constexpr const char* kSumOfX = "sum: {x: X, out: C}";

/// The plan of a kernel with an input X[M,N] and one that is filled so, for M = 4 and N = 3.
Plan plan_with(const std::string& shape, const std::string& fill, const std::string& file = "",
               const std::string& reference = kSumOfX) {
  const TempFolder folder;
  folder.write("p.bin", file);
  folder.write("gen.cu", "");
  folder.write("fills.cu", "");
  const auto path = folder.write(
      "fills.yaml",
      "kernel: fills\nop: fills\narch: [80]\ndims: [M, N]\nargs:\n"
      "  - {name: X, dtype: i32, shape: [M, N], role: in, fill: iota}\n"
      "  - {name: Y, dtype: i32, shape: [" +
          shape + "], role: in, fill: " + fill +
          "}\n"
          "  - {name: C, dtype: i32, shape: [M], role: out}\n  - {name: m, dtype: i32, value: M}\n"
          "launches: [{grid: [1], block: [32]}]\nwork: {flops: 0, bytes: 0}\n"
          "reference: [{" +
          reference + "}]\nsmoke: {M: 4, N: 3}\n");
  const KernelSpec kernel = load_kernel(path);
  return make_plan(kernel, kernel.smoke, {}, test_device());
}

std::string refusal(const std::string& shape, const std::string& fill, const std::string& file = "",
                    const std::string& reference = kSumOfX) {
  return message_of<PlanError>([&] { plan_with(shape, fill, file, reference); });
}

TEST(PlanFills, AKernelGetsItsArgumentsAndASeed) {
  Plan plan = plan_with("N",
                        "{kernel: {source: gen.cu, entry: make, args: [X, Y, m, seed],"
                        " grid: [M], block: [32]}}");
  ASSERT_EQ(plan.fills.size(), 1u);
  EXPECT_EQ(own_kernels(plan), std::vector<ReferenceKernelPlan*>{&plan.fills[0]});
  const ReferenceKernelPlan& fill = plan.fills[0];
  EXPECT_EQ(fill.launch.grid[0], 4);
  EXPECT_EQ(std::get<BufferPlan>(fill.args[0]).role, Role::in);
  EXPECT_EQ(std::get<BufferPlan>(fill.args[0]).shape, (std::vector<std::int64_t>{4, 3}));
  EXPECT_EQ(std::get<BufferPlan>(fill.args[1]).role, Role::out);
  EXPECT_EQ(std::get<ScalarPlan>(fill.args[2]).value, Number(std::int64_t{4}));
  EXPECT_FALSE(std::get<ScalarPlan>(fill.args[2]).is_seed);
  EXPECT_TRUE(std::get<ScalarPlan>(fill.args[3]).is_seed);
  EXPECT_EQ(nlohmann::json::parse(nlohmann::json(plan).dump()).get<Plan>(), plan);
}

TEST(PlanFills, WhatIsMadeOfAnotherInputMustFitIt) {
  EXPECT_EQ(refusal("M * N", "{order: X}"), "");
  EXPECT_EQ(refusal("M", "{order: X}"),
            "Y has 4 elements and is to be the order of X, which has 12; fills");
  EXPECT_EQ(refusal("M", "{column: {of: X, index: N - 1}}"), "");
  EXPECT_EQ(refusal("N", "{column: {of: X, index: 0}}"),
            "Y has 3 elements and is to be the column of X, which has 4; fills");
  EXPECT_EQ(refusal("M", "{column: {of: X, index: N}}"),
            "Y is to be the column 3 of X, which has 0 to 2; fills");
  EXPECT_EQ(refusal("99", "{starts: X}"), "");
}

TEST(PlanFills, AFileHasAsManyBytesAsItsBuffer) {
  EXPECT_EQ(refusal("M", "{file: p.bin}", std::string(16, 'x')), "");
  const std::string message = refusal("M", "{file: p.bin}", std::string(15, 'x'));
  EXPECT_THAT(message, HasSubstr("fills.yaml:7:55: Y has 16 bytes, [4] of i32, but "));
  EXPECT_THAT(message, EndsWith("p.bin has 15; fills"));
  EXPECT_THAT(refusal("M", "iota", std::string(17, 'x'), "file: p.bin, out: C"),
              testing::ContainsRegex("fills.yaml:12:20: C has 16 bytes.*p.bin has 17; fills"));
}

// Who chose what may be written down, for a kernel whose tokens choose experts.
TEST(PlanFills, ChoicesAreOfThoseThereAre) {
  const std::string fill = "{choices: {file: p.bin, of: M}}";
  EXPECT_EQ(refusal("M, 2", fill, "0 1\n3 2\n 1\t0 \n2 0\n"), "");
  const auto mistake = [&](const std::string& file) -> std::string {
    return message_of<SpecError>([&] { plan_with("M, 2", fill, file); });
  };
  EXPECT_THAT(mistake("0 1\n3 4\n1 0\n2 0"),
              EndsWith("p.bin:2:3: expected 0 to 3, found 4\n  3 4\n    ^"));
  EXPECT_THAT(mistake("0 1 2 3 5\n"),
              HasSubstr("p.bin:1:9: expected at most 4 numbers in a row, as there are no "
                        "more to choose of, found 5\n"));
  const std::string message = refusal("M, 2", fill, "0 1\n3 2\n");
  EXPECT_THAT(message, HasSubstr("fills.yaml:7:58: Y is [4,2], but "));
  EXPECT_THAT(message, EndsWith("p.bin has 2 rows of 2 numbers; fills"));
}

}  // namespace
}  // namespace assay
