#include "base/dtype.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

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
  EXPECT_FALSE(is_floating(DType::u8));
  EXPECT_TRUE(is_floating(DType::bf16));
}

TEST(DType, SizesMatchTheHostsTypes) {
  EXPECT_EQ(size_bytes(DType::bf16), 2);
  EXPECT_EQ(size_bytes(DType::f16), 2);
  EXPECT_EQ(size_bytes(DType::f32), static_cast<std::int64_t>(sizeof(float)));
  EXPECT_EQ(size_bytes(DType::f64), static_cast<std::int64_t>(sizeof(double)));
  EXPECT_EQ(size_bytes(DType::i32), 4);
  EXPECT_EQ(size_bytes(DType::i64), 8);
  EXPECT_EQ(size_bytes(DType::u8), 1);
  EXPECT_EQ(size_bytes(DType::i8), 1);
  EXPECT_EQ(size_bytes(DType::i16), 2);
  EXPECT_EQ(size_bytes(DType::u16), 2);
  EXPECT_EQ(size_bytes(DType::u32), 4);
  EXPECT_EQ(size_bytes(DType::u64), 8);
}

TEST(DType, OnlySomeIntegersHaveASign) {
  for (const DType dtype : {DType::i8, DType::i16, DType::i32, DType::i64}) {
    EXPECT_TRUE(is_signed(dtype)) << to_text(dtype);
  }
  for (const DType dtype : {DType::u8, DType::u16, DType::u32, DType::u64}) {
    EXPECT_FALSE(is_signed(dtype)) << to_text(dtype);
  }
}

}  // namespace
}  // namespace assay
