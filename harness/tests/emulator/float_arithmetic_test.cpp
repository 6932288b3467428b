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

using Of = FloatOperation;

float compute_f32(Of operation, const FloatMode& mode, float a, float b = 0, float c = 0) {
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  return std::bit_cast<float>(compute(operation, mode, bits(a), bits(b), bits(c)));
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
      expect(compute_f32(Of::add, mode, a, b), [&] { return a + b; });
      expect(compute_f32(Of::mul, mode, a, b), [&] { return a * b; });
      expect(compute_f32(Of::div, mode, a, b), [&] { return a / b; });
      expect(compute_f32(Of::sqrt, mode, a), [&] { return std::sqrt(a); });
      expect(compute_f32(Of::fma, mode, a, b, c), [&] { return std::fma(a, b, c); });
    }
  }
}

TEST(FloatArithmetic, FlushesAndSaturates) {
  const FloatMode flush{.flush_subnormals = true}, saturate{.saturate = true};
  EXPECT_EQ(compute_f32(Of::add, flush, 0x1p-130f, 1.0f), 1.0f);
  EXPECT_TRUE(std::signbit(compute_f32(Of::mul, flush, -0x1p-100f, 0x1p-30f)));
  EXPECT_EQ(compute_f32(Of::mul, flush, -0x1p-100f, 0x1p-30f), 0.0f);
  EXPECT_EQ(compute_f32(Of::mul, {}, 0x1p-100f, 0x1p-30f), 0x1p-130f);
  EXPECT_EQ(compute_f32(Of::add, saturate, 2.0f, 1.0f), 1.0f);
  EXPECT_EQ(compute_f32(Of::add, saturate, -2.0f, 1.0f), 0.0f);
  EXPECT_EQ(compute_f32(Of::add, saturate, INFINITY, -INFINITY), 0.0f);
}

TEST(FloatArithmetic, TakesTheLesserOfZerosAndLeavesNanOut) {
  EXPECT_TRUE(std::signbit(compute_f32(Of::min, {}, 0.0f, -0.0f)));
  EXPECT_FALSE(std::signbit(compute_f32(Of::max, {}, -0.0f, 0.0f)));
  EXPECT_EQ(compute_f32(Of::max, {}, NAN, 3.0f), 3.0f);
  EXPECT_TRUE(std::isnan(compute_f32(Of::max, {.propagate_nan = true}, NAN, 3.0f)));
  EXPECT_EQ(compute_f32(Of::max, {.xor_sign = true}, -2.0f, 3.0f), -3.0f);
}

/// 2048 + 1 + 2^-24: rounding to double first, and then to f16, would lose what breaks the tie.
TEST(FloatArithmetic, RoundsHalvesOnce) {
  const FloatMode f16{.type = PtxType::f16}, bf16{.type = PtxType::bf16};
  const auto bits = [](PtxType format, double value) {
    return static_cast<std::uint16_t>(encode(format, value));
  };
  EXPECT_EQ(compute(Of::fma, f16, bits(PtxType::f16, 0x1p-24), bits(PtxType::f16, 1),
                    bits(PtxType::f16, 2048)),
            bits(PtxType::f16, 2048));
  // 2^127 + 2^119 (half of a step of bf16) + 2^-133, further apart than a double is long.
  const std::uint32_t tie = compute(Of::fma, bf16, bits(PtxType::bf16, 0x1p60),
                                    bits(PtxType::bf16, 0x1p59), bits(PtxType::bf16, 0x1p127));
  EXPECT_EQ(tie, bits(PtxType::bf16, 0x1p127));
  EXPECT_EQ(compute(Of::add, {.type = PtxType::f16, .saturate = true}, bits(PtxType::f16, 3), 0),
            bits(PtxType::f16, 1));
  EXPECT_EQ(compute(Of::add, {.type = PtxType::f16x2}, 0x3C004000, 0x3C003C00), 0x40004200u);
}

/// Half the precision of f16 is enough to hold each result of two f16 in f32, exactly for products;
/// so the host's f32 and one rounding agree where the sum is exact in f32.
TEST(FloatArithmetic, MultipliesHalvesAsFloatsDo) {
  std::mt19937 random(2);
  for (int i = 0; i < 20000; ++i) {
    const auto a = static_cast<std::uint16_t>(random()), b = static_cast<std::uint16_t>(random());
    const double product = decode(PtxType::f16, a) * decode(PtxType::f16, b);
    ASSERT_EQ(compute(Of::mul, {.type = PtxType::f16}, a, b), encode(PtxType::f16, product));
  }
}

TEST(FloatArithmetic, ApproximatesWithinAHalfStep) {
  EXPECT_EQ(compute_f32(Of::ex2, {}, 3.0f), 8.0f);
  EXPECT_EQ(compute_f32(Of::ex2, {.flush_subnormals = true}, -140.0f), 0.0f);
  EXPECT_EQ(compute_f32(Of::lg2, {}, 0.0f), -INFINITY);
  EXPECT_EQ(compute_f32(Of::rsqrt, {}, 4.0f), 0.5f);
  EXPECT_EQ(compute_f32(Of::rsqrt, {}, -0.0f), -INFINITY);
  EXPECT_TRUE(std::isnan(compute_f32(Of::sin, {}, INFINITY)));
}

}  // namespace
}  // namespace assay::emulator
