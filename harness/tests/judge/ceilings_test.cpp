#include "judge/ceilings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;

constexpr Ceilings kCeilings{4e12, 4e12, 800e12, 50e12};

Plan plan_of(DType dtype) {
  Plan plan;
  plan.args = {BufferPlan{"A", dtype, {1 << 20}, Role::in, "normal", {}, false},
               BufferPlan{"C", DType::f32, {1 << 20}, Role::out, "", {}, false}};
  return plan;
}

TEST(Implausible, TheMarginIsAQuarter) {
  Plan plan = plan_of(DType::bf16);
  plan.flops = 800'000'000;  // 1000 ns at the ceiling
  EXPECT_FALSE(implausible(plan, 1000, kCeilings));
  EXPECT_FALSE(implausible(plan, 801, kCeilings));
  const auto reason = implausible(plan, 799, kCeilings);
  ASSERT_TRUE(reason);
  EXPECT_THAT(*reason, HasSubstr("TFLOP/s, but this GPU does 800"));
}

TEST(Implausible, F32MayUseTensorCoresAtHalfTheRate) {
  Plan plan = plan_of(DType::f32);
  plan.flops = 800'000'000;
  EXPECT_TRUE(implausible(plan, 1500, kCeilings));
  EXPECT_FALSE(implausible(plan, 1601, kCeilings));
}

TEST(Implausible, OutputsMayStayInL2) {
  Plan plan = plan_of(DType::f32);
  const std::int64_t written = 4 << 20;
  plan.bytes = written + 4'000'000;  // 1000 ns of reading
  EXPECT_FALSE(implausible(plan, 801, kCeilings));
  EXPECT_TRUE(implausible(plan, 799, kCeilings));
  plan.bytes = written;
  EXPECT_FALSE(implausible(plan, 1, kCeilings));
}

TEST(Implausible, AnUnknownCeilingForbidsNothing) {
  Plan plan = plan_of(DType::bf16);
  plan.flops = 1'000'000'000'000'000;
  plan.bytes = 1'000'000'000'000;
  EXPECT_FALSE(implausible(plan, 1, Ceilings{}));
}

}  // namespace
}  // namespace assay
