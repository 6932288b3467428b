#include "emulator/float_arithmetic.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>
#include <random>

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

TEST(FloatArithmetic, RoundsAsTheHostDoes) {
  std::mt19937 random(1);
  for (const Rounding rounding :
       {Rounding::nearest_even, Rounding::to_zero, Rounding::down, Rounding::up}) {
    const FloatMode mode{.rounding = rounding};
    for (int i = 0; i < 20000; ++i) {
      const volatile float a = draw(random), b = draw(random), c = draw(random);
      const auto expect = [&](float made, const std::function<float()>& operation) {
        const float host = on_host(rounding, operation);
        ASSERT_TRUE(same(made, host))
            << a << " " << b << " " << c << ": " << made << ", not " << host;
      };
      expect(add_f32(a, b, mode), [&] { return a + b; });
      expect(multiply_f32(a, b, mode), [&] { return a * b; });
      expect(divide_f32(a, b, mode), [&] { return a / b; });
      expect(sqrt_f32(a, mode), [&] { return std::sqrt(a); });
      expect(fma_f32(a, b, c, mode), [&] { return std::fma(a, b, c); });
    }
  }
}

TEST(FloatArithmetic, FlushesAndSaturates) {
  const FloatMode flush{.flush_subnormals = true}, saturate{.saturate = true};
  EXPECT_EQ(add_f32(0x1p-130f, 1.0f, flush), 1.0f);
  EXPECT_TRUE(std::signbit(multiply_f32(-0x1p-100f, 0x1p-30f, flush)));
  EXPECT_EQ(multiply_f32(-0x1p-100f, 0x1p-30f, flush), 0.0f);
  EXPECT_EQ(multiply_f32(0x1p-100f, 0x1p-30f, {}), 0x1p-130f);
  EXPECT_EQ(add_f32(2.0f, 1.0f, saturate), 1.0f);
  EXPECT_EQ(add_f32(-2.0f, 1.0f, saturate), 0.0f);
  EXPECT_EQ(add_f32(INFINITY, -INFINITY, saturate), 0.0f);
}

TEST(FloatArithmetic, TakesTheLesserOfZerosAndLeavesNanOut) {
  EXPECT_TRUE(std::signbit(min_max_f32(0.0f, -0.0f, {.max = false})));
  EXPECT_FALSE(std::signbit(min_max_f32(-0.0f, 0.0f, {.max = true})));
  EXPECT_EQ(min_max_f32(NAN, 3.0f, {.max = true}), 3.0f);
  EXPECT_TRUE(std::isnan(min_max_f32(NAN, 3.0f, {.max = true, .propagate_nan = true})));
  EXPECT_EQ(min_max_f32(-2.0f, 3.0f, {.max = true, .xor_sign = true}), -3.0f);
}

/// 2048 + 1 + 2^-24: rounding to double first, and then to f16, would lose what breaks the tie.
TEST(FloatArithmetic, RoundsHalvesOnce) {
  const HalfMode f16, bf16{.format = FloatFormat::bf16};
  const auto bits = [](FloatFormat format, double value) {
    return static_cast<std::uint16_t>(encode(format, value));
  };
  EXPECT_EQ(half(HalfOperation::fma, f16, bits(FloatFormat::f16, 0x1p-24),
                 bits(FloatFormat::f16, 1), bits(FloatFormat::f16, 2048)),
            bits(FloatFormat::f16, 2048));
  // 2^127 + 2^119 (half of a step of bf16) + 2^-133, further apart than a double is long.
  const std::uint16_t tie = half(HalfOperation::fma, bf16, bits(FloatFormat::bf16, 0x1p60),
                                 bits(FloatFormat::bf16, 0x1p59), bits(FloatFormat::bf16, 0x1p127));
  EXPECT_EQ(tie, bits(FloatFormat::bf16, 0x1p127));
  EXPECT_EQ(half(HalfOperation::add, {.saturate = true}, bits(FloatFormat::f16, 3), 0),
            bits(FloatFormat::f16, 1));
  EXPECT_EQ(half_pair(HalfOperation::add, f16, 0x3C004000, 0x3C003C00), 0x40004200u);
}

/// Half the precision of f16 is enough to hold each result of two f16 in f32, exactly for products;
/// so the host's f32 and one rounding agree where the sum is exact in f32.
TEST(FloatArithmetic, MultipliesHalvesAsFloatsDo) {
  std::mt19937 random(2);
  for (int i = 0; i < 20000; ++i) {
    const auto a = static_cast<std::uint16_t>(random()), b = static_cast<std::uint16_t>(random());
    const double product = decode(FloatFormat::f16, a) * decode(FloatFormat::f16, b);
    ASSERT_EQ(half(HalfOperation::mul, {}, a, b), encode(FloatFormat::f16, product));
  }
}

TEST(FloatArithmetic, ApproximatesWithinAHalfStep) {
  EXPECT_EQ(approximate_f32(Approximation::ex2, 3.0f, false), 8.0f);
  EXPECT_EQ(approximate_f32(Approximation::ex2, -140.0f, true), 0.0f);
  EXPECT_EQ(approximate_f32(Approximation::lg2, 0.0f, false), -INFINITY);
  EXPECT_EQ(approximate_f32(Approximation::rsqrt, 4.0f, false), 0.5f);
  EXPECT_EQ(approximate_f32(Approximation::rsqrt, -0.0f, false), -INFINITY);
  EXPECT_TRUE(std::isnan(approximate_f32(Approximation::sin, INFINITY, false)));
}

}  // namespace
}  // namespace assay::emulator
