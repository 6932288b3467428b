#include "judge/reference_shapes.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

Plan plan_with_output(std::vector<std::int64_t> out) {
  Plan plan;
  plan.args = {BufferPlan{"x", DType::f32, {512, 8}, Role::in, "normal", {}},
               BufferPlan{"y", DType::f32, std::move(out), Role::out, "", {}}};
  return plan;
}

// An output of [1] that a sum of each row was to fill was told on a GPU.
TEST(ReferenceShapes, AResultFitsTheBufferThatTakesIt) {
  ReferencePlan sum{"sum", {{"x", "x"}, {"out", "y"}}, {{"all", false}}};
  Plan plan = plan_with_output({1});
  plan.reference = {sum};
  ASSERT_TRUE(find_shape_mistake(plan));
  EXPECT_EQ(find_shape_mistake(plan)->step, 0u);
  EXPECT_EQ(find_shape_mistake(plan)->message, "sum: its out is [512], but y is [1]");
  plan = plan_with_output({512});
  plan.reference = {sum};
  EXPECT_FALSE(find_shape_mistake(plan));
}

TEST(ReferenceShapes, AStepReadsWhatTheOneBeforeMade) {
  Plan plan = plan_with_output({512, 8});
  plan.reference = {{"transpose", {{"x", "x"}, {"out", "t"}}, {}},
                    {"add", {{"a", "t"}, {"b", "x"}, {"out", "y"}}, {}}};
  ASSERT_TRUE(find_shape_mistake(plan));
  EXPECT_EQ(find_shape_mistake(plan)->step, 1u);
  plan.reference.insert(plan.reference.begin() + 1, {"transpose", {{"x", "t"}, {"out", "u"}}, {}});
  plan.reference[2].operands["a"] = "u";
  EXPECT_FALSE(find_shape_mistake(plan));
}

TEST(ReferenceShapes, ABaselineNeedsTheBuffersThatItNamesAndWhatItsStepsMake) {
  Plan plan = plan_with_output({512, 8});
  plan.args.push_back(BufferPlan{"w", DType::bf16, {16, 8}, Role::in, "normal", {}});
  plan.args.push_back(BufferPlan{"v", DType::bf16, {16, 8}, Role::in, "normal", {}});
  ReferencePlan product{"cublaslt", {{"a", "w"}, {"b", "v"}, {"out", "t"}}, {}};
  product.options = {{"transpose_a", false}, {"transpose_b", true}};
  product.round = DType::bf16;
  EXPECT_EQ(memory_bytes(plan, {"product", {product}}), 2 * (16 * 8 + 16 * 8 + 16 * 16));
  const ReferencePlan relu{"relu", {{"x", "x"}, {"out", "y"}}, {}};
  EXPECT_EQ(memory_bytes(plan, {"relu", {relu}}), 4 * 2 * 512 * 8);
}

}  // namespace
}  // namespace assay
