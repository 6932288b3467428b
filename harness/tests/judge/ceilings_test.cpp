#include "judge/ceilings.h"

#include "matchers.h"

namespace assay {
namespace {

constexpr auto kCold = Preparation::cold;

Ceilings ceilings() {
  Ceilings made;
  made.copy_bytes_per_s = made.read_bytes_per_s = 4e12;
  made.l2_bytes_per_s = 8e12;
  made.bf16_flops_per_s = 800e12;
  made.tf32_flops_per_s = 400e12;
  made.f32_flops_per_s = 50e12;
  made.f64_flops_per_s = 60e12;
  made.i8_flops_per_s = 1600e12;
  made.launch_ns = 2000;
  made.next_launch_ns = 1000;
  return made;
}

Plan plan_of(DType in, DType out = DType::f32) {
  Plan plan;
  plan.args = {BufferPlan{"A", in, {1 << 20}, Role::in, "normal", {}, false},
               BufferPlan{"C", out, {1 << 20}, Role::out, "", {}, false}};
  return plan;
}

/// The least time that can be true, to a nanosecond.
int least_ns(const Plan& plan, Preparation preparation = kCold) {
  int time_ns = 1;
  while (implausible(plan, time_ns, ceilings(), preparation)) ++time_ns;
  return time_ns;
}

TEST(Implausible, TheMarginIsAQuarter) {
  Plan plan = plan_of(DType::bf16);
  plan.flops = 800'000'000;  // 1000 ns at the ceiling
  EXPECT_EQ(least_ns(plan), 800);
  const auto reason = implausible(plan, 799, ceilings(), kCold);
  ASSERT_TRUE(reason);
  EXPECT_THAT(*reason, HasSubstr("TFLOP/s, but this GPU does 800 in products of 16 bits"));
}

TEST(Implausible, EachTypeHasItsRate) {
  const auto least_of = [](DType in, DType out) {
    Plan plan = plan_of(in, out);
    plan.flops = 4'800'000'000;
    return least_ns(plan);
  };
  EXPECT_EQ(least_of(DType::bf16, DType::bf16), 4800);
  EXPECT_EQ(least_of(DType::f16, DType::f32), 4800);
  EXPECT_EQ(least_of(DType::f32, DType::f32), 9600);  // tensor cores are allowed
  EXPECT_EQ(least_of(DType::f64, DType::f64), 64'000);
  EXPECT_EQ(least_of(DType::i8, DType::i32), 2400);
  EXPECT_EQ(least_of(DType::u8, DType::bf16), 2400);    // it may be fp8
  EXPECT_EQ(least_of(DType::i32, DType::i32), 2400);    // packed bits
  EXPECT_EQ(least_of(DType::i32, DType::f64), 64'000);  // indices lift no ceiling
}

TEST(Implausible, OutputsMayStayInL2) {
  Plan plan = plan_of(DType::f32);
  const std::int64_t written = 4 << 20;
  plan.bytes = written + 4'000'000;  // 1000 ns of reading
  EXPECT_EQ(least_ns(plan), 800);
  plan.bytes = written;
  EXPECT_EQ(least_ns(plan), 1);
}

// A kernel that read 8 MB under `hot` was called too fast, since memory cannot be read so fast.
TEST(Implausible, HotInputsMayComeFromL2) {
  Plan plan = plan_of(DType::f32);
  plan.bytes = (4 << 20) + 12'000'000;
  EXPECT_EQ(least_ns(plan), 2400);
  EXPECT_EQ(least_ns(plan, Preparation::hot), 1000);
  EXPECT_THAT(implausible(plan, 2399, ceilings(), kCold).value(), HasSubstr("from memory"));
  EXPECT_THAT(implausible(plan, 999, ceilings(), Preparation::hot).value(), HasSubstr("from L2"));
}

TEST(Implausible, LaunchesTakeAsLongAsThoseThatDoNothing) {
  Plan plan = plan_of(DType::f32);
  plan.launches.resize(3);
  EXPECT_EQ(least_ns(plan), 3200);
  EXPECT_THAT(implausible(plan, 3199, ceilings(), kCold).value(),
              HasSubstr("3 launches took 3199 ns, but as many that do nothing take 4000"));
  EXPECT_EQ(least_ns(plan, Preparation::graph), 1600);
  plan.launches[2].early = true;
  EXPECT_EQ(least_ns(plan), 2400);
}

TEST(Implausible, AnUnknownCeilingForbidsNothing) {
  for (const DType dtype : {DType::bf16, DType::f32, DType::f64, DType::i8, DType::i64}) {
    Plan plan = plan_of(dtype);
    plan.flops = 1'000'000'000'000'000;
    plan.bytes = 1'000'000'000'000;
    plan.launches.resize(9);
    EXPECT_FALSE(implausible(plan, 1, Ceilings{}, kCold));
    EXPECT_FALSE(implausible(plan, 1, Ceilings{}, Preparation::hot));
  }
  Ceilings some = ceilings();
  some.tf32_flops_per_s = 0;
  Plan plan = plan_of(DType::bf16);  // and f32, whose rate is not known
  plan.flops = 1'000'000'000'000'000;
  EXPECT_FALSE(implausible(plan, 1, some, kCold));
}

TEST(Roofline, IsOfUsualArithmeticAndOfWhereInputsAre) {
  Plan plan = plan_of(DType::f32);
  plan.flops = 50'000'000;
  EXPECT_DOUBLE_EQ(roofline_ns(plan, ceilings(), kCold, 3000), 1000);
  plan.bytes = 8'000'000;
  EXPECT_DOUBLE_EQ(roofline_ns(plan, ceilings(), kCold, 3000), 2000);
  EXPECT_DOUBLE_EQ(roofline_ns(plan, ceilings(), Preparation::hot, 3000), 1000);
  EXPECT_DOUBLE_EQ(roofline_ns(plan, Ceilings{}, kCold, 3000), 0);
}

TEST(Roofline, IsOfTensorCoresWhereOthersCouldNotBeSoFast) {
  Plan plan = plan_of(DType::f32);
  plan.flops = 50'000'000;
  EXPECT_DOUBLE_EQ(roofline_ns(plan, ceilings(), kCold, 900), 1000);  // at a higher clock
  EXPECT_DOUBLE_EQ(roofline_ns(plan, ceilings(), kCold, 500), 125);
  Plan bf16 = plan_of(DType::bf16, DType::bf16);
  bf16.flops = 800'000'000;
  EXPECT_DOUBLE_EQ(roofline_ns(bf16, ceilings(), kCold, 500), 1000);
}

}  // namespace
}  // namespace assay
