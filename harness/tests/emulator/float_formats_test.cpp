#include "emulator/float_formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace assay::emulator {
namespace {

struct Narrow {
  PtxType format;
  int exponent_bits, fraction_bits;
  bool has_infinity;
};
constexpr Narrow kNarrow[] = {{PtxType::f16, 5, 10, true},
                              {PtxType::bf16, 8, 7, true},
                              {PtxType::e4m3, 4, 3, false},
                              {PtxType::e5m2, 5, 2, true}};

/// The finite numbers of a format that are not negative, in their order, by the textbook's formula.
std::vector<double> numbers_of(const Narrow& narrow) {
  std::vector<double> numbers;
  const int bias = (1 << (narrow.exponent_bits - 1)) - 1;
  const int exponents = (1 << narrow.exponent_bits) - (narrow.has_infinity ? 1 : 0);
  const int fractions = 1 << narrow.fraction_bits;
  for (int exponent = 0; exponent < exponents; ++exponent) {
    for (int fraction = 0; fraction < fractions; ++fraction) {
      const int significand = exponent == 0 ? fraction : fractions + fraction;
      numbers.push_back(
          std::ldexp(significand, std::max(exponent, 1) - bias - narrow.fraction_bits));
    }
  }
  if (!narrow.has_infinity) numbers.pop_back();  // the NaN of e4m3
  return numbers;
}

TEST(FloatFormats, DecodesAndEncodesEachNumber) {
  for (const Narrow& narrow : kNarrow) {
    const std::vector<double> numbers = numbers_of(narrow);
    const std::uint64_t sign = 1ull << (narrow.exponent_bits + narrow.fraction_bits);
    for (std::uint64_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(decode(narrow.format, i), numbers[i]);
      ASSERT_EQ(decode(narrow.format, i | sign), -numbers[i]);
      ASSERT_EQ(encode(narrow.format, numbers[i]), i);
      ASSERT_EQ(encode(narrow.format, -numbers[i]), i | sign);
    }
    EXPECT_TRUE(std::isnan(decode(narrow.format, encode(narrow.format, NAN))));
  }
}

/// Between two neighbours, what is nearer, the even one of what is as near, or the one that the
/// direction has.
TEST(FloatFormats, RoundsToNeighbours) {
  for (const Narrow& narrow : kNarrow) {
    const std::vector<double> numbers = numbers_of(narrow);
    const std::uint64_t sign = 1ull << (narrow.exponent_bits + narrow.fraction_bits);
    for (std::uint64_t i = 0; i + 1 < numbers.size(); ++i) {
      const double low = numbers[i], high = numbers[i + 1], middle = low + (high - low) / 2;
      const auto rounded = [&](double value, Rounding rounding) {
        return encode(narrow.format, value, {.rounding = rounding});
      };
      ASSERT_EQ(rounded(middle, Rounding::nearest_even), i + i % 2);
      ASSERT_EQ(rounded(std::nextafter(middle, 0.0), Rounding::nearest_even), i);
      ASSERT_EQ(rounded(std::nextafter(middle, high), Rounding::nearest_even), i + 1);
      ASSERT_EQ(rounded(middle, Rounding::nearest_away), i + 1);
      const double little = std::nextafter(low, high), much = std::nextafter(high, low);
      ASSERT_EQ(rounded(much, Rounding::to_zero), i);
      ASSERT_EQ(rounded(much, Rounding::down), i);
      ASSERT_EQ(rounded(little, Rounding::up), i + 1);
      ASSERT_EQ(rounded(-much, Rounding::to_zero), i | sign);
      ASSERT_EQ(rounded(-little, Rounding::down), (i + 1) | sign);
      ASSERT_EQ(rounded(-much, Rounding::up), i | sign);
    }
  }
}

TEST(FloatFormats, EndsAtTheLargestNumber) {
  const double f16_limit = 65520;  // half a step above 65504
  EXPECT_EQ(encode(PtxType::f16, std::nextafter(f16_limit, 0.0)), 0x7BFFu);
  EXPECT_EQ(encode(PtxType::f16, f16_limit), 0x7C00u);
  EXPECT_EQ(encode(PtxType::f16, -1e9), 0xFC00u);
  EXPECT_EQ(encode(PtxType::f16, 1e9, {.rounding = Rounding::to_zero}), 0x7BFFu);
  EXPECT_EQ(encode(PtxType::f16, 1e9, {.rounding = Rounding::down}), 0x7BFFu);
  EXPECT_EQ(encode(PtxType::f16, -1e9, {.rounding = Rounding::down}), 0xFC00u);
  EXPECT_EQ(encode(PtxType::f16, 1e9, {.saturate_finite = true}), 0x7BFFu);
  EXPECT_EQ(encode(PtxType::e4m3, 1e9), 0x7Eu);  // 448
  EXPECT_EQ(encode(PtxType::e5m2, -1e9), 0xFBu);
  EXPECT_EQ(encode(PtxType::f16, -3.0, {.relu = true}), 0u);
  EXPECT_EQ(encode(PtxType::f16, 3.0, {.saturate = true}), 0x3C00u);
}

TEST(FloatFormats, RoundsTf32InItsRegister) {
  EXPECT_EQ(encode(PtxType::tf32, 1.0), 0x3F800000u);
  EXPECT_EQ(encode(PtxType::tf32, 1 + 0x1p-11, {.rounding = Rounding::nearest_away}), 0x3F802000u);
  EXPECT_EQ(encode(PtxType::tf32, 1 + 0x1p-11), 0x3F800000u);
  EXPECT_EQ(decode(PtxType::tf32, 0x3F801FFF), 1.0);
}

TEST(FloatFormats, ClampsIntegersToTheirRange) {
  const auto integer = [](double value, int bits, bool is_signed) {
    return encode_integer(value, Rounding::nearest_even, bits, is_signed);
  };
  EXPECT_EQ(integer(2.5, 32, true), 2u);
  EXPECT_EQ(integer(3.5, 32, true), 4u);
  EXPECT_EQ(integer(-2.5, 32, true), static_cast<std::uint64_t>(-2));
  EXPECT_EQ(integer(1e30, 32, true), 0x7FFFFFFFu);
  EXPECT_EQ(static_cast<std::uint32_t>(integer(-1e30, 32, true)), 0x80000000u);
  EXPECT_EQ(integer(-1.0, 32, false), 0u);
  EXPECT_EQ(integer(1e30, 8, false), 255u);
  EXPECT_EQ(integer(1e30, 64, true), 0x7FFFFFFFFFFFFFFFu);
  EXPECT_EQ(integer(1e30, 64, false), ~0ull);
}

/// By way of double, 2^63 + 2^39 + 1 would be rounded twice: to 2^63 + 2^39, and then, half way
/// between eyes after it.
TEST(FloatFormats, RoundsLongIntegersOnce) {
  const std::uint64_t value = (1ull << 63) + (1ull << 39) + 1;  // a tie of f32, and a little more
  EXPECT_EQ(encode_from_integer(PtxType::f32, value, false), 0x5F000001u);
  EXPECT_EQ(encode_from_integer(PtxType::f32, 0 - (value / 2 + 1), true), 0xDE800001u);
  EXPECT_EQ(encode_from_integer(PtxType::f32, static_cast<std::uint64_t>(-1), true), 0xBF800000u);
  EXPECT_EQ(encode_from_integer(PtxType::f64, ~0ull, false, {.rounding = Rounding::to_zero}),
            0x43EFFFFFFFFFFFFFu);
  EXPECT_EQ(encode_from_integer(PtxType::f16, 70000, false), 0x7C00u);
}

}  // namespace
}  // namespace assay::emulator
