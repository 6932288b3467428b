// What a tolerance is; summation_test.cpp holds sums of products to it.
#include "judge/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace assay {
namespace {

using Terms = std::vector<double>;

Magnitude of_rms(double rms) { return {1000, rms}; }

double exact(const Terms& terms) {
  double sum = 0;
  for (const double term : terms) sum += term;
  return sum;
}

double one_by_one(const Terms& terms) {
  float sum = 0;
  for (const double term : terms) sum += static_cast<float>(term);
  return static_cast<double>(sum);
}

double split_in_eight(const Terms& terms) {
  float sums[8] = {};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    sums[i * 8 / terms.size()] += static_cast<float>(terms[i]);
  }
  float sum = 0;
  for (const float part : sums) sum += part;
  return static_cast<double>(sum);
}

// The limits of products, on which recorded results rest.
TEST(Tolerance, IsWhatItWasForProducts) {
  for (const std::int64_t length : {128, 4096, 32768}) {
    const auto k = static_cast<double>(length);
    const Tolerance tolerance =
        derive_tolerance(DType::bf16, sum_of_products(length), {std::int64_t{1} << 60, 3});
    EXPECT_NEAR(tolerance.relative_limit, 0x1p-8 + 0x1p-21 + k * 0x1p-26, 1e-12) << length;
    EXPECT_EQ(tolerance.across_limit, kNoLimit) << length;
    EXPECT_NEAR(tolerance.element.of_value, 0x1p-7, 0x1p-10) << length;
    EXPECT_GE(tolerance.element.of_terms, k * 0x1p-24) << length;
    EXPECT_LE(tolerance.element.of_terms, k * 0x1p-24 + std::sqrt(k) * 0x1p-21) << length;
    EXPECT_EQ(tolerance.element.size, 3) << length;
  }
}

// Its limit was 1.0005, and zeros are off by 1.
TEST(Tolerance, ASumOfSixtyMillionTermsRefusesZeros) {
  constexpr std::int64_t kLength = 67108864;
  for (const Arithmetic& arithmetic : {sum_of_products(kLength), sum_of_terms(kLength)}) {
    for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
      EXPECT_LT(derive_tolerance(dtype, arithmetic, of_rms(1)).relative_limit, 0.05);
      EXPECT_LT(derive_tolerance(dtype, arithmetic, of_rms(1)).element.at(0), 0.1);
    }
  }
  EXPECT_LT(derive_tolerance(DType::f32, sum_of_terms(kLength), of_rms(1)).relative_limit, 1e-3);
  const Arithmetic endless = sum_of_products(std::int64_t{1} << 60);
  EXPECT_LE(derive_tolerance(DType::f32, endless, of_rms(1)).relative_limit, 1.0 / 32);
}

// Terms with a mean, so that the sum grows and the roundings with it.
TEST(Tolerance, APlainSumPassesInAnyOrderAndFailsWithoutOneTermInAHundred) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform;
  for (const std::size_t length : {100u, 10000u, 1000000u}) {
    Terms terms(length);
    for (double& term : terms) term = static_cast<double>(static_cast<float>(uniform(random)));
    const double sum = exact(terms);
    const Tolerance tolerance =
        derive_tolerance(DType::f32, sum_of_terms(static_cast<std::int64_t>(length)), {1, sum});
    const auto passes = [&](double found) {
      const double error = std::abs(found - sum);
      return error <= tolerance.element.at(sum) && error <= tolerance.relative_limit * sum;
    };
    EXPECT_TRUE(passes(one_by_one(terms))) << length;
    EXPECT_TRUE(passes(split_in_eight(terms))) << length;
    const Terms fewer(terms.begin() + static_cast<std::ptrdiff_t>(length / 100), terms.end());
    EXPECT_FALSE(passes(one_by_one(fewer))) << length;
  }
}

TEST(Tolerance, IntegersMustBeEqual) {
  const Tolerance tolerance = derive_tolerance(DType::u32, sum_of_terms(1000), of_rms(5), {}, 3);
  EXPECT_EQ(tolerance.relative_limit, 0);
  EXPECT_EQ(tolerance.across_limit, 0);
  EXPECT_EQ(tolerance.element.at(7, 7), 0);
}

TEST(Tolerance, F64IsHeldToItsOwnPrecision) {
  const Tolerance tolerance = derive_tolerance(DType::f64, sum_of_terms(1000), of_rms(1));
  EXPECT_LT(tolerance.relative_limit, 1e-14);
  EXPECT_LT(tolerance.element.at(0), 1e-13);
}

TEST(Tolerance, ARoundedResultInBetweenWidensIt) {
  Arithmetic rounded = sum_of_products(64);
  rounded.rounding = unit_roundoff(DType::bf16);
  const Tolerance before = derive_tolerance(DType::bf16, sum_of_products(64), of_rms(1));
  const Tolerance after = derive_tolerance(DType::bf16, rounded, of_rms(1));
  EXPECT_DOUBLE_EQ(after.relative_limit - before.relative_limit, 0x1p-8);
  EXPECT_DOUBLE_EQ(after.element.at(0) - before.element.at(0), 0x1p-5);
}

TEST(Tolerance, AnOutputOfZerosMustBeZero) {
  const Tolerance tolerance = derive_tolerance(DType::bf16, sum_of_products(4096), of_rms(0));
  EXPECT_EQ(tolerance.element.at(0), 0);
}

TEST(Tolerance, GrowsWithTheSumAndNeverShrinks) {
  double relative = 0, floor = 0;
  for (std::int64_t length = 1; length <= 65536; length *= 2) {
    const Tolerance tolerance = derive_tolerance(DType::f32, sum_of_products(length), of_rms(1));
    EXPECT_GE(tolerance.relative_limit, relative);
    EXPECT_GE(tolerance.element.at(0), floor);
    relative = tolerance.relative_limit;
    floor = tolerance.element.at(0);
  }
}

// One sum of terms of both signs: every tenth time it is less than an eighth of its terms' scale,
// and a right kernel was refused, a few times in a hundred, for an error that was none.
TEST(Tolerance, ASumThatCancelsByChanceIsJudgedByItsTerms) {
  constexpr int kTerms = 3000;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  int refused_before = 0;
  for (int draw = 0; draw < 1000; ++draw) {
    double exact = 0, squares = 0;
    float sum = 0, without_one = 0;
    for (int i = 0; i < kTerms; ++i) {
      const float term = normal(random);
      exact += term;
      squares += double{term} * term;
      sum += term;
      if (i != kTerms / 2) without_one += term;
    }
    const auto passes = [&](float found, double terms) {
      const Tolerance tolerance =
          derive_tolerance(DType::f32, sum_of_terms(kTerms), {1, std::abs(exact), terms});
      const double error = std::abs(found - exact);
      return error <= tolerance.relative_limit * std::abs(exact) &&
             error <= tolerance.element.at(exact, terms * terms);
    };
    EXPECT_TRUE(passes(sum, std::sqrt(squares))) << draw;
    // A term that is small by chance itself leaves no trace.
    if (std::abs(double{sum} - without_one) > 0.05) {
      EXPECT_FALSE(passes(without_one, std::sqrt(squares))) << draw;
    }
    refused_before += passes(sum, 0) ? 0 : 1;
  }
  EXPECT_GT(refused_before, 10);
}

TEST(Tolerance, TheContractReplacesTheNormAndScalesTheElements) {
  const Arithmetic sums = sum_of_products(65536, DType::f32);
  const Tolerance derived = derive_tolerance(DType::f32, sums, of_rms(2));
  const Tolerance given = derive_tolerance(DType::f32, sums, of_rms(2), 0.25, 3.0);
  EXPECT_LT(derived.across_limit, derived.relative_limit);
  EXPECT_EQ(given.relative_limit, 0.25);
  EXPECT_EQ(given.across_limit, kNoLimit);
  for (const double squares : {0.0, 5.0}) {
    EXPECT_DOUBLE_EQ(given.element.at(1, squares), 3 * derived.element.at(1, squares));
  }
}

TEST(Tolerance, AnAbsoluteOneIsAcceptedOfEveryElementAndOfAll) {
  const auto with = [](double rms, std::optional<double> absolute) {
    return derive_tolerance(DType::f32, sum_of_products(128), of_rms(rms), {}, {}, absolute);
  };
  const Tolerance derived = with(2, {});
  EXPECT_DOUBLE_EQ(with(2, 0.5).element.at(3), derived.element.at(3) + 0.5);
  EXPECT_DOUBLE_EQ(with(2, 0.5).relative_limit, derived.relative_limit + 0.25);
  EXPECT_EQ(with(0, 0.5).relative_limit, 1e30);  // of a reference of zeros
  EXPECT_EQ(with(1e-40, 0.5).relative_limit, 1e30);
  EXPECT_EQ(derive_tolerance(DType::i32, {}, of_rms(2), {}, {}, 0.5).element.at(1), 0);
}

TEST(Tolerance, AnElementIsBoundByItsOwnTerms) {
  const Tolerance tolerance = derive_tolerance(DType::f32, sum_of_products(64), {1000, 1, 1});
  EXPECT_DOUBLE_EQ(tolerance.element.at(0, 100), 10 * tolerance.element.at(0, 1));
  // Squares that fp32 cannot hold say nothing.
  EXPECT_DOUBLE_EQ(tolerance.element.at(0, 0x1p-120), tolerance.element.at(0, 1));
}

}  // namespace
}  // namespace assay
