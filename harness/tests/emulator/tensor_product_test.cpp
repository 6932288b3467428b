#include "emulator/tensor_product.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "emulator/float_formats.h"

namespace assay::emulator {
namespace {

std::uint32_t bf16_bits(double value) {
  return static_cast<std::uint32_t>(encode(PtxType::bf16, value));
}

/// One element of a product of 16: a row of A against a column of B.
float product_of(const std::array<double, 16>& a, const std::array<double, 16>& b, float sum) {
  std::array<std::uint32_t, 16> a_bits{};
  std::array<std::uint32_t, 8 * 16> b_bits{};
  for (int k = 0; k < 16; ++k) a_bits[k] = bf16_bits(a[k]), b_bits[k] = bf16_bits(b[k]);
  std::array<std::uint32_t, 8> sums{std::bit_cast<std::uint32_t>(sum)};
  multiply({}, take_apart(PtxType::bf16, Side::a, 1, 16, a_bits.data()),
           take_apart(PtxType::bf16, Side::b, 8, 16, b_bits.data()), sums.data());
  return std::bit_cast<float>(sums[0]);
}

TEST(TensorProduct, CutsTermsOffBehindTheLargest) {
  std::array<double, 16> a{}, b{};
  a[0] = 1, b[0] = 1;
  a[1] = 0x1p-13, b[1] = 0x1p-12;  // the last kept bit
  EXPECT_EQ(product_of(a, b, -1), 0x1p-25f);
  b[1] = 0x1p-13;
  EXPECT_EQ(product_of(a, b, -1), 0);
  // Two halves of the last bit would round up; each is cut off.
  a[2] = 0x1p-13, b[2] = 0x1p-13;
  EXPECT_EQ(product_of(a, b, -1), 0);
}

TEST(TensorProduct, CutsTheSumOff) {
  std::array<double, 16> a{}, b{};
  a[0] = 1, b[0] = 1;
  a[1] = 0x1p-12, b[1] = 0x1p-12 + 0x1p-13;  // three quarters of f32's last bit
  EXPECT_EQ(product_of(a, b, 0), 1.0f);
  a[0] = -1, a[1] = -a[1];
  EXPECT_EQ(product_of(a, b, 0), -1.0f);
}

TEST(TensorProduct, LeavesZerosOutOfTheAlignment) {
  std::array<double, 16> a{}, b{};
  a[0] = 0, b[0] = 0x1p100;
  EXPECT_EQ(product_of(a, b, 0x1.234568p-60f), 0x1.234568p-60f);
}

TEST(TensorProduct, KeepsInfinitiesAndNan) {
  std::array<double, 16> a{}, b{};
  a.fill(1), b.fill(1);
  a[3] = INFINITY;
  EXPECT_EQ(product_of(a, b, 0), INFINITY);
  b[3] = -2;
  EXPECT_EQ(product_of(a, b, 0), -INFINITY);
  EXPECT_TRUE(std::isnan(product_of(a, b, INFINITY)));
  b[3] = 0;
  EXPECT_TRUE(std::isnan(product_of(a, b, 0)));
  a[3] = NAN;
  EXPECT_TRUE(std::isnan(product_of(a, b, 0)));
  a.fill(0x1p100), b.fill(0x1p100);
  EXPECT_EQ(product_of(a, b, 0), INFINITY);
}

/// Against fp64: the error of a sum of 17 terms is below 17 times the last bit that is kept, and
/// that of cutting off the sum; the check's tolerance allows more.
TEST(TensorProduct, StaysNearTheExactSum) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (int turn = 0; turn < 2000; ++turn) {
    std::array<double, 16> a, b;
    for (double& element : a) element = decode(PtxType::bf16, bf16_bits(normal(random)));
    for (double& element : b) element = decode(PtxType::bf16, bf16_bits(normal(random)));
    const auto sum = static_cast<float>(normal(random));
    double exact = sum, size = std::abs(sum);
    for (int k = 0; k < 16; ++k) exact += a[k] * b[k], size += std::abs(a[k] * b[k]);
    EXPECT_LE(std::abs(product_of(a, b, sum) - exact), size * (17 * 0x1p-25 + 0x1p-23));
  }
}

}  // namespace
}  // namespace assay::emulator
