// Products of small floating numbers with scales: shapes, the check in fp64, and how far a sum may
// be off.

#include <cmath>
#include <random>

#include "judge/operation.h"
#include "judge/tolerance.h"
#include "matchers.h"
#include "message_of.h"

namespace assay {
namespace {

/// a[2,5] with a scale for each row and 2 columns, transposed and padded; b[3,5] with one for 2
/// rows and 2 columns. The data of an operand is its place in `kTensors`.
OperationCall small_call() {
  OperationCall call;
  call.operands["a"] = {1, DType::e4m3, {2, 5}};
  call.operands["a_scales"] = {2, DType::f32, {3, 4}};
  call.operands["b"] = {3, DType::e4m3, {3, 5}};
  call.operands["b_scales"] = {4, DType::f32, {2, 3}};
  call.options = {{"a_block_rows", 1.0},
                  {"b_block_rows", 2.0},
                  {"block_columns", 2.0},
                  {"transpose_a_scales", true},
                  {"transpose_b_scales", false}};
  return call;
}

const std::vector<std::vector<double>> kTensors = {
    {},
    {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
    {1, 10, 0, 0, 2, 20, 0, 0, 4, 40, 0, 0},
    {1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0},
    {1, 3, 5, 7, 9, 11},
};

std::vector<double> read(const Operand& operand, std::int64_t first, std::int64_t step,
                         std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(kTensors.at(operand.data).at(static_cast<std::size_t>(first + i * step)));
  }
  return values;
}

TEST(ScaledGemm, EachElementIsScaledByItsBlock) {
  const OperationCall call = small_call();
  const Operation& operation = operation::scaled_gemm();
  EXPECT_EQ(operation.outputs(call).front().extents, (std::vector<std::int64_t>{2, 3}));
  const auto exact = [&](std::int64_t index) {
    return operation.exact(call, 0, index, read)->value;
  };
  EXPECT_EQ(exact(0), 1 * 1 * 1 + 5 * 4 * 5);    // a[0,0] b[0,0], a[0,4] b[0,4]
  EXPECT_EQ(exact(1), 2 * 1 * 1);                // a[0,1] b[1,1]
  EXPECT_EQ(exact(5), 8 * 20 * 9 + 9 * 20 * 9);  // the second row of scales of both
}

TEST(ScaledGemm, OneScaleIsOfAll) {
  OperationCall call = small_call();
  call.operands["a_scales"] = {4, DType::f32, {1, 1}};
  EXPECT_EQ(operation::scaled_gemm().exact(call, 0, 1, read)->value, 2);
}

TEST(ScaledGemm, ScalesThatDoNotFitAreNamed) {
  const auto refusal = [](const char* operand, std::vector<std::int64_t> shape) {
    OperationCall call = small_call();
    call.operands[operand].shape = std::move(shape);
    return message_of<Failure>([&] { operation::scaled_gemm().outputs(call); });
  };
  EXPECT_THAT(refusal("a_scales", {3, 1}), HasSubstr("a [2,5] has 2 x 3 blocks of 1 x 2"));
  EXPECT_THAT(refusal("b_scales", {3, 3}), HasSubstr("b_scales must have 2 rows of 3 or more"));
  EXPECT_THAT(refusal("b", {3, 4}), HasSubstr("do not fit"));
  EXPECT_EQ(refusal("a_scales", {3, 7}), "");
}

/// Adds as a Hopper GPU does: the products of 32 and the sum so far, each cut off 13 bits below the
/// leading one of the largest of them.
class TensorSum {
 public:
  void add(const double* products) {
    constexpr int kBits = 13;
    double most = std::abs(sum_);
    for (int i = 0; i < kWidth; ++i) most = std::max(most, std::abs(products[i]));
    if (most == 0) return;
    const double unit = std::ldexp(1.0, std::ilogb(most) - kBits);
    const auto cut = [&](double value) { return std::trunc(value / unit) * unit; };
    double sum = cut(sum_);
    for (int i = 0; i < kWidth; ++i) sum += cut(products[i]);
    const double last = sum == 0 ? 1 : std::ldexp(1.0, std::ilogb(sum) - kBits);
    sum_ = std::trunc(sum / last) * last;
  }
  double take() { return std::exchange(sum_, 0); }
  static constexpr int kWidth = 32;

 private:
  double sum_ = 0;
};

float e4m3(double value) {
  const int bits = small_float_bits(DType::e4m3, value);
  const int exponent = bits >> 3 & 15, behind = bits & 7;
  const double size =
      exponent == 0 ? std::ldexp(behind, -9) : std::ldexp(8 + behind, exponent - 10);
  return static_cast<float>(bits & 0x80 ? -size : size);
}

double bf16(double value) {
  return std::ldexp(std::nearbyint(std::ldexp(value, 7 - std::ilogb(value))),
                    std::ilogb(value) - 7);
}

/// How far the sums of a kernel are from right ones, in ratio to what is allowed: the worst of
/// `count` elements.
struct Ratios {
  double promoted = 0, one_level = 0, rounded_scales = 0;
};

Ratios ratios_of(std::int64_t k, int count, bool equal) {
  constexpr std::int64_t kBlock = 128;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  Ratios worst;
  for (int element = 0; element < count; ++element) {
    double right = 0, squares = 0, promoted = 0, of_rounded = 0, unscaled = 0, unscaled_squares = 0;
    TensorSum block_sum, whole_sum;
    for (std::int64_t begin = 0; begin < k; begin += kBlock) {
      double x[kBlock], y[kBlock], most_x = 0, most_y = 0, products[kBlock];
      for (int i = 0; i < kBlock; ++i) {
        x[i] = equal ? 1 : normal(random);
        y[i] = equal ? 1 : normal(random);
        most_x = std::max(most_x, std::abs(x[i]));
        most_y = std::max(most_y, std::abs(y[i]));
      }
      const double scale_x = most_x / 448, scale_y = most_y / 448, scale = scale_x * scale_y;
      double sum = 0;
      for (int i = 0; i < kBlock; ++i) {
        products[i] = e4m3(x[i] / scale_x) * e4m3(y[i] / scale_y);
        sum += products[i];
        squares += products[i] * products[i] * scale * scale;
        unscaled_squares += products[i] * products[i];
      }
      for (int i = 0; i < kBlock; i += TensorSum::kWidth) {
        block_sum.add(products + i);
        whole_sum.add(products + i);
      }
      right += sum * scale;
      unscaled += sum;
      promoted += block_sum.take() * scale;
      of_rounded += sum * bf16(scale_x) * bf16(scale_y);
    }
    const Tolerance tolerance =
        derive_tolerance(DType::bf16, sum_of_scaled_products(k, kBlock), {count, 1, 1});
    const auto ratio = [&](double found, double expected, double squared_terms) {
      return std::abs(bf16(found) - expected) / tolerance.element.at(expected, squared_terms);
    };
    worst.promoted = std::max(worst.promoted, ratio(promoted, right, squares));
    worst.rounded_scales = std::max(worst.rounded_scales, ratio(of_rounded, right, squares));
    worst.one_level =
        std::max(worst.one_level, ratio(whole_sum.take(), unscaled, unscaled_squares));
  }
  return worst;
}

TEST(ScaledTolerance, SumsMustLeaveTheTensorCoresAfterEachBlock) {
  EXPECT_LT(ratios_of(128, 500, false).promoted, 0.6);
  const Ratios some = ratios_of(1024, 500, false), many = ratios_of(32768, 100, false);
  EXPECT_LT(some.promoted, 0.6);
  EXPECT_GT(some.rounded_scales, 1.2);
  EXPECT_LT(many.promoted, 0.6);
  EXPECT_GT(many.one_level, 1.2);
  const Ratios equal = ratios_of(2048, 1, true);
  EXPECT_LT(equal.promoted, 0.6);
  EXPECT_GT(equal.one_level, 1.2);
}

TEST(ScaledTolerance, DoesNotGrowWithTheNumberOfBlocks) {
  const double of_one = sum_of_scaled_products(128, 128).chain;
  EXPECT_EQ(sum_of_scaled_products(65536, 128).chain, of_one);
  EXPECT_GT(sum_of_scaled_products(65536, 65536).chain, 100 * of_one);
}

}  // namespace
}  // namespace assay
