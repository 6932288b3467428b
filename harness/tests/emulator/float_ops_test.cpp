#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>
#include <random>

#include "emulator/float_formats.h"

namespace assay::emulator {
namespace {

/// The host's arithmetic with its rounding mode changed. `volatile` keeps the operations between
/// the two changes.
float on_host(Rounding rounding, const std::function<float()>& operation) {
  const int mode = rounding == Rounding::to_zero ? FE_TOWARDZERO
                   : rounding == Rounding::down  ? FE_DOWNWARD
                   : rounding == Rounding::up    ? FE_UPWARD
                                                 : FE_TONEAREST;
  std::fesetround(mode);
  const volatile float result = operation();
  std::fesetround(FE_TONEAREST);
  return result;
}

/// Numbers of which many sums and products are ties, subnormal, or too large.
float draw(std::mt19937& random) {
  const auto bits = static_cast<std::uint32_t>(random());
  if (bits % 4 == 0) return std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  const int exponent = bits % 4 == 1 ? static_cast<int>(random() % 16) - 8
                                     : static_cast<int>(random() % 60) * 4 - 120;
  return std::ldexp(static_cast<float>(static_cast<int>(random() % 64) - 32), exponent);
}

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

float compute_f32(std::string_view name, const Modifiers& how, float a, float b = 0, float c = 0) {
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  return std::bit_cast<float>(
      compute(float_function(name), PtxType::f32, how, bits(a), bits(b), bits(c)));
}

TEST(FloatOps, RoundsAsTheHostDoes) {
  std::mt19937 random(1);
  for (const Rounding rounding :
       {Rounding::nearest_even, Rounding::to_zero, Rounding::down, Rounding::up}) {
    const Modifiers mode{.rounding = rounding};
    for (int i = 0; i < 20000; ++i) {
      const volatile float a = draw(random), b = draw(random), c = draw(random);
      const auto expect = [&](float made, const std::function<float()>& operation) {
        const float host = on_host(rounding, operation);
        ASSERT_TRUE(same(made, host))
            << a << " " << b << " " << c << ": " << made << ", not " << host;
      };
      expect(compute_f32("add", mode, a, b), [&] { return a + b; });
      expect(compute_f32("mul", mode, a, b), [&] { return a * b; });
      expect(compute_f32("div", mode, a, b), [&] { return a / b; });
      expect(compute_f32("sqrt", mode, a), [&] { return std::sqrt(a); });
      expect(compute_f32("fma", mode, a, b, c), [&] { return std::fma(a, b, c); });
    }
  }
}

TEST(FloatOps, FlushesAndSaturates) {
  const Modifiers flush{.flush_subnormals = true}, saturate{.saturate = true};
  EXPECT_EQ(compute_f32("add", flush, 0x1p-130f, 1.0f), 1.0f);
  EXPECT_TRUE(std::signbit(compute_f32("mul", flush, -0x1p-100f, 0x1p-30f)));
  EXPECT_EQ(compute_f32("mul", flush, -0x1p-100f, 0x1p-30f), 0.0f);
  EXPECT_EQ(compute_f32("mul", {}, 0x1p-100f, 0x1p-30f), 0x1p-130f);
  EXPECT_EQ(compute_f32("add", saturate, 2.0f, 1.0f), 1.0f);
  EXPECT_EQ(compute_f32("add", saturate, -2.0f, 1.0f), 0.0f);
  EXPECT_EQ(compute_f32("add", saturate, INFINITY, -INFINITY), 0.0f);
}

TEST(FloatOps, TakesTheLesserOfZerosAndLeavesNanOut) {
  EXPECT_TRUE(std::signbit(compute_f32("min", {}, 0.0f, -0.0f)));
  EXPECT_FALSE(std::signbit(compute_f32("max", {}, -0.0f, 0.0f)));
  EXPECT_EQ(compute_f32("max", {}, NAN, 3.0f), 3.0f);
  EXPECT_TRUE(std::isnan(compute_f32("max", {.propagate_nan = true}, NAN, 3.0f)));
  EXPECT_EQ(compute_f32("max", {.xor_sign = true}, -2.0f, 3.0f), -3.0f);
}

/// 2048 + 1 + 2^-24: rounding to double first, and then to f16, would lose what breaks the tie.
TEST(FloatOps, RoundsHalvesOnce) {
  const auto bits = [](PtxType format, double value) {
    return static_cast<std::uint16_t>(encode(format, value));
  };
  EXPECT_EQ(compute(float_function("fma"), PtxType::f16, {}, bits(PtxType::f16, 0x1p-24),
                    bits(PtxType::f16, 1), bits(PtxType::f16, 2048)),
            bits(PtxType::f16, 2048));
  // 2^127 + 2^119 (half of a step of bf16) + 2^-133, further apart than a double is long.
  const std::uint32_t tie =
      compute(float_function("fma"), PtxType::bf16, {}, bits(PtxType::bf16, 0x1p60),
              bits(PtxType::bf16, 0x1p59), bits(PtxType::bf16, 0x1p127));
  EXPECT_EQ(tie, bits(PtxType::bf16, 0x1p127));
  EXPECT_EQ(
      compute(float_function("add"), PtxType::f16, {.saturate = true}, bits(PtxType::f16, 3), 0),
      bits(PtxType::f16, 1));
  EXPECT_EQ(compute(float_function("add"), PtxType::f16x2, {}, 0x3C004000, 0x3C003C00),
            0x40004200u);
}

/// Half the precision of f16 is enough to hold each result of two f16 in f32, exactly for products;
/// so the host's f32 and one rounding agree where the sum is exact in f32.
TEST(FloatOps, MultipliesHalvesAsFloatsDo) {
  std::mt19937 random(2);
  for (int i = 0; i < 20000; ++i) {
    const auto a = static_cast<std::uint16_t>(random()), b = static_cast<std::uint16_t>(random());
    const double product = decode(PtxType::f16, a) * decode(PtxType::f16, b);
    ASSERT_EQ(compute(float_function("mul"), PtxType::f16, {}, a, b),
              encode(PtxType::f16, product));
  }
}

TEST(FloatOps, ApproximatesWithinAHalfStep) {
  EXPECT_EQ(compute_f32("ex2", {}, 3.0f), 8.0f);
  EXPECT_EQ(compute_f32("ex2", {.flush_subnormals = true}, -140.0f), 0.0f);
  EXPECT_EQ(compute_f32("lg2", {}, 0.0f), -INFINITY);
  EXPECT_EQ(compute_f32("rsqrt", {}, 4.0f), 0.5f);
  EXPECT_EQ(compute_f32("rsqrt", {}, -0.0f), -INFINITY);
  EXPECT_TRUE(std::isnan(compute_f32("sin", {}, INFINITY)));
}

}  // namespace
}  // namespace assay::emulator
