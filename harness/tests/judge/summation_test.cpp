// Honest kernels, in 200 orders of summation, and cheaper ones: the first must pass on every kind
// of data, and the others must fail on random numbers. build/tolerance_bench does the same at
// length.
#include "summation/summation.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

using test::Margins;
using test::Order;
using test::Product;
using test::Shortcut;
using test::Step;

/// The shortest steps of tensor cores that sums of f32 still pass with where they are so long.
bool is_precise(const Order& order, DType factors, std::int64_t k) {
  const bool truncates = order.step == Step::tensor || order.step == Step::tensor_low;
  return !(truncates && factors == DType::f32 && k > 4096 && order.width < 8);
}

class HonestOrders : public testing::TestWithParam<std::tuple<DType, std::int64_t>> {};

TEST_P(HonestOrders, PassOnEveryKindOfData) {
  const auto [dtype, k] = GetParam();
  const int side = k > 4096 ? 4 : 8;
  ASSERT_EQ(test::honest_orders().size(), 200u);
  for (const auto& [kind, kind_name] : test::data_kinds()) {
    const Product product = test::draw_product({side, side, k}, dtype, kind, 1);
    const std::vector<float> reference = test::multiply(product, test::reference_order(dtype));
    for (const Order& order : test::honest_orders()) {
      if (!is_precise(order, dtype, k)) continue;
      const std::vector<float> found = test::multiply_honestly(product, order);
      for (const DType out : {dtype, DType::f32}) {
        // Factors that are 64 times as large have products beyond f16.
        if (out == DType::f16 && kind == DataKind::large) continue;
        EXPECT_LE(test::judge(product, reference, found, out).worst(), 1)
            << kind_name << ", " << order.name() << ", to " << to_text(out);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, HonestOrders,
                         testing::Combine(testing::Values(DType::f32, DType::bf16, DType::f16),
                                          testing::Values(1, 7, 61, 1021, 16381)));

class CheaperArithmetic : public testing::TestWithParam<std::tuple<DType, std::int64_t>> {};

TEST_P(CheaperArithmetic, IsRefused) {
  const auto [dtype, k] = GetParam();
  const Product product = test::draw_product({32, 32, k}, dtype, DataKind::as_drawn, 1);
  const Order order = test::reference_order(dtype);
  const std::vector<float> reference = test::multiply(product, order);
  for (const Shortcut shortcut : test::refused_shortcuts(dtype)) {
    // f32 on tensor cores: nothing else has parts.
    const Order steps =
        shortcut == Shortcut::tf32x2 ? Order{.step = Step::tensor, .width = 8} : order;
    const std::vector<float> found = test::multiply(product, steps, shortcut);
    EXPECT_GT(test::judge(product, reference, found, dtype).worst(), 1) << name_of(shortcut);
  }
}

INSTANTIATE_TEST_SUITE_P(, CheaperArithmetic,
                         testing::Combine(testing::Values(DType::f32, DType::bf16),
                                          testing::Values(64, 1024, 16384, 65536)));

// "C[87,84] is 20.0161, expected 20.0161 within 7.58e-06": the bound of an element went with the
// root mean square of the whole output. Where rows are scaled by 2^-8 to 1, an element of a large
// row that nearly cancels had a bound that was made for small rows, and one or two of 12,480
// elements convicted six of twelve honest kernels.
TEST(ElementBound, ALargeRowIsNotJudgedByTheSmallOnes) {
  const auto bound_before = [](double expected, double rms) {
    constexpr int kLength = 61;
    return 0x1p-23 * std::abs(expected) + std::max(0x1p-19, 4 * kLength * 0x1p-26) * rms;
  };
  int convicted_before = 0;
  for (const std::uint64_t seed : {5, 8, 10, 16}) {
    const Product product =
        test::draw_product({96, 130, 61}, DType::f32, DataKind::scaled_rows, seed);
    const std::vector<float> reference = test::multiply(product, {});
    double squares = 0;
    for (const float value : reference) squares += static_cast<double>(value) * value;
    const double rms = std::sqrt(squares / static_cast<double>(reference.size()));
    const Order backward{.backward = true}, strided{.lanes = 32}, unfused{.step = Step::unfused};
    for (const Order& order : {backward, strided, unfused, Order{.block = 16}}) {
      const std::vector<float> found = test::multiply(product, order);
      EXPECT_LT(test::judge(product, reference, found, DType::f32).worst(), 0.5) << order.name();
      for (std::size_t i = 0; i < found.size(); ++i) {
        const double error = std::abs(static_cast<double>(found[i]) - reference[i]);
        convicted_before += error > bound_before(reference[i], rms) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(convicted_before, 0);
}

// hi*hi + hi*lo of sums of 65,536 terms is off by less than truncation may be, but elsewhere.
TEST(AcrossTheResult, HalfOfTheLowPartsLeftOutIsToldFromTruncation) {
  for (const std::int64_t k : {16384, 32768, 65536}) {
    const Product product = test::draw_product({32, 32, k}, DType::f32, DataKind::as_drawn, 3);
    const std::vector<float> reference = test::multiply(product, {});
    const auto judged = [&](Shortcut shortcut) {
      const Order steps{.step = Step::tensor, .width = 8};
      return test::judge(product, reference, test::multiply(product, steps, shortcut), DType::f32);
    };
    const Margins honest = judged(Shortcut::tf32x3), cheaper = judged(Shortcut::tf32x2);
    EXPECT_LT(honest.worst(), 0.75) << k;
    EXPECT_GT(cheaper.across, 1.2) << k;
    EXPECT_EQ(cheaper.norm<1, k> 8192) << k;
  }
}

}  // namespace
}  // namespace assay
