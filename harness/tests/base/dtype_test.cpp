#include "base/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr DType kAll[] = {DType::bf16, DType::f16,  DType::f32,   DType::f64,
                          DType::e4m3, DType::e5m2, DType::ue8m0, DType::e2m1,
                          DType::i32,  DType::i64,  DType::u8,    DType::i8,
                          DType::i16,  DType::u16,  DType::u32,   DType::u64};

TEST(DType, TextRoundTrips) {
  for (const DType dtype : kAll) EXPECT_EQ(parse_dtype(to_text(dtype)), dtype);
}

TEST(DType, RefusesOtherSpellings) {
  for (const char* text : {"", "BF16", "float", "f8", "f32 ", "u128"}) {
    EXPECT_EQ(parse_dtype(text), std::nullopt) << text;
  }
}

TEST(DType, RoundoffIsHalfTheGapAfterOne) {
  EXPECT_EQ(unit_roundoff(DType::f64), std::numeric_limits<double>::epsilon() / 2);
  EXPECT_EQ(unit_roundoff(DType::f32), std::numeric_limits<float>::epsilon() / 2);
  EXPECT_EQ(unit_roundoff(DType::f16), std::ldexp(1.0, -11));
  EXPECT_EQ(unit_roundoff(DType::bf16), std::ldexp(1.0, -8));
}

TEST(DType, OnlyFloatingTypesRound) {
  for (const DType dtype : kAll) {
    EXPECT_EQ(is_floating(dtype), unit_roundoff(dtype) > 0) << to_text(dtype);
  }
}

TEST(DType, HasTheSizeOfAnElement) {
  const std::int64_t sizes_bytes[] = {2, 2, 4, 8, 1, 1, 1, 1, 4, 8, 1, 1, 2, 2, 4, 8};
  for (std::size_t i = 0; i < std::size(kAll); ++i) {
    EXPECT_EQ(size_bytes(kAll[i]), sizes_bytes[i]) << to_text(kAll[i]);
  }
}

TEST(DType, OnlySomeIntegersHaveASign) {
  for (const DType dtype : {DType::i8, DType::i16, DType::i32, DType::i64}) {
    EXPECT_TRUE(is_signed(dtype)) << to_text(dtype);
  }
  for (const DType dtype : {DType::u8, DType::u16, DType::u32, DType::u64}) {
    EXPECT_FALSE(is_signed(dtype)) << to_text(dtype);
  }
}

// Floating types of at most 8 bits.
TEST(SmallFloat, TwoOfFourBitsShareAByte) {
  EXPECT_EQ(size_bytes(DType::e2m1, 6), 3);
  EXPECT_EQ(size_bytes(DType::e2m1, 7), 4);
  EXPECT_EQ(size_bytes(DType::f32, 7), 28);
}

TEST(SmallFloat, HoldsWhatItsFormatHolds) {
  EXPECT_TRUE(holds(DType::e4m3, 448.0));
  EXPECT_FALSE(holds(DType::e4m3, 449.0));
  EXPECT_FALSE(holds(DType::e4m3, 1e-4));
  EXPECT_TRUE(holds(DType::e5m2, 57344.0));
  EXPECT_TRUE(holds(DType::e2m1, -6.0));
  EXPECT_TRUE(holds(DType::ue8m0, 0x1p-127));
  EXPECT_FALSE(holds(DType::ue8m0, 0.0));
  EXPECT_FALSE(holds(DType::ue8m0, -1.0));
  EXPECT_EQ(range_text(DType::e4m3), "numbers up to 448");
  EXPECT_EQ(unit_roundoff(DType::e4m3), 0x1p-4);
  EXPECT_EQ(unit_roundoff(DType::e5m2), 0x1p-3);
}

TEST(SmallFloat, RoundsToNearestEvenAndSaturates) {
  const auto e4m3 = [](double value) { return int{small_float_bits(DType::e4m3, value)}; };
  EXPECT_EQ(e4m3(0), 0x00);
  EXPECT_EQ(e4m3(-0.0), 0x80);
  EXPECT_EQ(e4m3(1), 0x38);
  EXPECT_EQ(e4m3(-1.125), 0xB9);
  EXPECT_EQ(e4m3(1.0625), 0x38);  // halfway: to even
  EXPECT_EQ(e4m3(1.1875), 0x3A);
  EXPECT_EQ(e4m3(1.99), 0x40);  // carries into the exponent
  EXPECT_EQ(e4m3(0x1p-9), 0x01);
  EXPECT_EQ(e4m3(0x1p-10), 0x00);
  EXPECT_EQ(e4m3(0x1.8p-10), 0x01);
  EXPECT_EQ(e4m3(0x1.fp-7), 0x08);  // the largest subnormal number rounds up to the normal ones
  EXPECT_EQ(e4m3(448), 0x7E);
  EXPECT_EQ(e4m3(1e9), 0x7E);
  EXPECT_EQ(e4m3(-std::numeric_limits<double>::infinity()), 0xFE);
  EXPECT_EQ(e4m3(std::nan("")), 0x7F);
  EXPECT_EQ(small_float_bits(DType::e5m2, 57344), 0x7B);
  EXPECT_EQ(small_float_bits(DType::e5m2, 1e9), 0x7B);
  EXPECT_EQ(small_float_bits(DType::e2m1, -6), 0xF);
  EXPECT_EQ(small_float_bits(DType::e2m1, 0.75), 2);
  EXPECT_EQ(small_float_bits(DType::e2m1, 100), 7);
}

// A scale that was rounded down would make the largest element of its block too large.
TEST(SmallFloat, PowersOfTwoAreRoundedUp) {
  EXPECT_EQ(small_float_bits(DType::ue8m0, 1), 127);
  EXPECT_EQ(small_float_bits(DType::ue8m0, 1.001), 128);
  EXPECT_EQ(small_float_bits(DType::ue8m0, 0x1p-127), 0);
  EXPECT_EQ(small_float_bits(DType::ue8m0, 0), 0);
  EXPECT_EQ(small_float_bits(DType::ue8m0, 1e300), 254);
  EXPECT_EQ(small_float_bits(DType::ue8m0, std::nan("")), 255);
}

}  // namespace
}  // namespace assay
