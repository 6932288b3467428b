#include "launch/argument_values.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/arena.h"

namespace assay {
namespace {

/// The bits that a kernel gets of a scalar, and what lies behind them must stay.
std::uint64_t bits_of(DType dtype, Number value) {
  std::uint64_t slot[2] = {0, ~std::uint64_t{0}};
  write_scalar({"x", dtype, value}, slot);
  EXPECT_EQ(slot[1], ~std::uint64_t{0});
  return slot[0];
}

TEST(WriteScalar, HasTheBitsOfItsType) {
  const std::int64_t minus_two = -2;
  EXPECT_EQ(bits_of(DType::i8, minus_two), 0xFEu);
  EXPECT_EQ(bits_of(DType::u8, std::int64_t{255}), 0xFFu);
  EXPECT_EQ(bits_of(DType::i16, minus_two), 0xFFFEu);
  EXPECT_EQ(bits_of(DType::u16, std::int64_t{65535}), 0xFFFFu);
  EXPECT_EQ(bits_of(DType::i32, minus_two), 0xFFFFFFFEu);
  EXPECT_EQ(bits_of(DType::u32, std::int64_t{4294967295}), 0xFFFFFFFFu);
  EXPECT_EQ(bits_of(DType::i64, minus_two), 0xFFFFFFFFFFFFFFFEu);
  EXPECT_EQ(bits_of(DType::u64, std::numeric_limits<std::int64_t>::max()), 0x7FFFFFFFFFFFFFFFu);
  EXPECT_EQ(bits_of(DType::f32, 1.5), 0x3FC00000u);
  EXPECT_EQ(bits_of(DType::f32, std::int64_t{3}), 0x40400000u);
  EXPECT_EQ(bits_of(DType::f64, -0.5), 0xBFE0000000000000u);
  EXPECT_EQ(bits_of(DType::f16, 1.5), 0x3E00u);
}

TEST(WriteScalar, RoundsBf16ToNearestEven) {
  EXPECT_EQ(bits_of(DType::bf16, 1.0), 0x3F80u);
  // Halfway between 1 and the next, and between that and the one behind: both go to the even one.
  EXPECT_EQ(bits_of(DType::bf16, 1 + 1.0 / 256), 0x3F80u);
  EXPECT_EQ(bits_of(DType::bf16, 1 + 3.0 / 256), 0x3F82u);
  EXPECT_EQ(bits_of(DType::bf16, 1 + 1.01 / 256), 0x3F81u);
  EXPECT_EQ(bits_of(DType::bf16, -std::numeric_limits<double>::infinity()), 0xFF80u);
}

TEST(LayoutOf, AStructLiesAsInC) {
  Plan plan;
  plan.args = {BufferPlan{"x", DType::f32, {8}, Role::in, "normal", {}, 0},
               ScalarPlan{"a", DType::i8, std::int64_t{1}},
               ScalarPlan{"b", DType::f64, 2.0},
               TensorMapPlan{"m", "x", {8}, 0},
               StructPlan{"inner", {1, 2, 1}},
               StructPlan{"outer", {1, 4, 0}},
               StructPlan{"with_map", {1, 3}}};
  struct Inner {
    signed char a;
    double b;
    signed char c;
  };
  struct Outer {
    signed char a;
    Inner inner;
    const float* x;
  };
  const std::pair<std::size_t, Layout> expected[] = {
      {0, {8, 8}},
      {1, {1, 1}},
      {2, {8, 8}},
      {3, {128, 64}},
      {4, {sizeof(Inner), alignof(Inner)}},
      {5, {sizeof(Outer), alignof(Outer)}},
      {6, {192, 64}},
  };
  for (const auto& [place, layout] : expected) {
    EXPECT_EQ(layout_of(plan, place).bytes, layout.bytes) << place;
    EXPECT_EQ(layout_of(plan, place).alignment, layout.alignment) << place;
  }
}

// A tile of TMA begins at a multiple of 1024 bytes, and what lies beside a buffer is looked at.
TEST(PlaceBuffer, LeavesZonesThatNothingElseLiesIn) {
  CUdeviceptr begin = std::uint64_t{5} << 30;
  const CUdeviceptr memory = begin;
  GuardedBuffer last;
  for (const std::size_t bytes : {1, 1024, 1025, 3 << 20}) {
    last = place_buffer("x", bytes, begin);
    EXPECT_EQ(last.data % 1024, 0u) << bytes;
    EXPECT_EQ(last.bytes, bytes);
    EXPECT_EQ(last.begin, begin) << "no byte between two buffers is unguarded";
    EXPECT_GE(last.data - last.begin, 65536u) << bytes;
    EXPECT_GE(last.end - last.data - bytes, 65536u) << bytes;
    EXPECT_EQ(last.end - last.begin, guarded_bytes(bytes));
    begin = last.end;
  }
  guard_whole_page(last, memory);
  EXPECT_EQ((last.end - memory) % kPageBytes, 0u);
  EXPECT_EQ(last.end - memory, whole_pages(begin - memory));
}

}  // namespace
}  // namespace assay
