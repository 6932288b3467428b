// What the generators of support.cu make, on a real GPU.
#include "support/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "gpu_fixture.h"

namespace assay {
namespace {

class InputsTest : public test::GpuTest {
 protected:
  /// What a generator makes with this seed, and what that becomes as data of this kind.
  template <typename T = std::int32_t>
  std::vector<T> made(const BufferPlan& plan, std::uint64_t seed,
                      DataKind kind = DataKind::as_drawn) {
    OwnKernels own(*this);
    const auto input = own.inputs.get({}, plan, seed);
    own.inputs.draw(*input, seed, kind);
    return own.read<T>(input->buffer.data, static_cast<std::size_t>(plan.elements()));
  }
};

TEST_F(InputsTest, RoutingGivesEachTokenDifferentExpertsAndEachExpertItsShare) {
  constexpr std::int64_t kTokens = 4096, kExperts = 24, kTop = 3;
  const BufferPlan plan{
      "R",      DType::i32, {kTokens, kTop},
      Role::in, "routing",  {{"tokens", kTokens}, {"experts", kExperts}, {"top", kTop}}};
  const std::vector<std::int32_t> experts = made(plan, 1);
  std::vector<int> tokens_of(kExperts);
  for (std::size_t row = 0; row < kTokens; ++row) {
    const auto begin = experts.begin() + static_cast<std::ptrdiff_t>(row * kTop);
    const std::set<std::int32_t> distinct(begin, begin + kTop);
    ASSERT_EQ(distinct.size(), std::size_t{kTop}) << "token " << row;
    for (const std::int32_t expert : distinct) {
      ASSERT_TRUE(expert >= 0 && expert < kExperts) << expert;
      ++tokens_of[static_cast<std::size_t>(expert)];
    }
  }
  // 512 each, give or take six standard deviations of 21.
  for (const int tokens : tokens_of) EXPECT_NEAR(tokens, 512, 128);
  EXPECT_EQ(made(plan, 1), experts);
  EXPECT_NE(made(plan, 2), experts);
}

TEST_F(InputsTest, RoutingHitsAsManyExpertsAsItIsTold) {
  for (const double hit : {3, 5, 23}) {
    const BufferPlan plan{"R",       DType::i32,
                          {40, 3},   Role::in,
                          "routing", {{"tokens", 40}, {"experts", 24}, {"top", 3}, {"hit", hit}}};
    const std::vector<std::int32_t> experts = made(plan, 1);
    std::set<std::int32_t> all(experts.begin(), experts.end());
    EXPECT_EQ(static_cast<double>(all.size()), hit);
    EXPECT_TRUE(*all.begin() >= 0 && *all.rbegin() < 24);
    for (std::size_t row = 0; row < 40; ++row) {
      EXPECT_EQ((std::set<std::int32_t>{&experts[3 * row], &experts[3 * row] + 3}).size(), 3u);
    }
  }
}

TEST_F(InputsTest, RoutingWithASkewPrefersSomeExperts) {
  constexpr int kTokens = 8192;
  // The share of the tokens that each of four experts gets where popularity falls like 1, 1/2, 1/3
  // and 1/4: added up over all orders in which three of them can be drawn.
  const std::map<int, std::vector<double>> shares = {{1, {0.48, 0.24, 0.16, 0.12}},
                                                     {3, {0.9482, 0.8200, 0.6814, 0.5504}}};
  for (const auto& [top, share] : shares) {
    BufferPlan plan{"R", DType::i32, {kTokens, top}, Role::in, "routing", {}};
    plan.arguments = {{"tokens", kTokens}, {"experts", 24}, {"top", top}, {"hit", 4}, {"skew", 1}};
    std::map<std::int32_t, int> tokens_of;
    const std::vector<std::int32_t> experts = made(plan, 1);
    for (auto begin = experts.begin(); begin != experts.end(); begin += top) {
      const std::set<std::int32_t> distinct(begin, begin + top);
      ASSERT_EQ(distinct.size(), static_cast<std::size_t>(top));
      for (const std::int32_t expert : distinct) ++tokens_of[expert];
    }
    std::vector<int> counts;
    for (const auto& [expert, tokens] : tokens_of) counts.push_back(tokens);
    std::sort(counts.rbegin(), counts.rend());
    ASSERT_EQ(counts.size(), share.size());
    for (std::size_t i = 0; i < share.size(); ++i) {
      const double deviation = std::sqrt(kTokens * share[i] * (1 - share[i]));
      EXPECT_NEAR(counts[i], kTokens * share[i], 6 * deviation) << i << " of top " << top;
    }
  }
}

TEST_F(InputsTest, DistinctNumbersAreDistinctAndInTheirRange) {
  const BufferPlan plan{"D", DType::i32, {1000}, Role::in, "distinct", {{"of", 1500}}};
  const std::vector<std::int32_t> numbers = made(plan, 1);
  const std::set<std::int32_t> all(numbers.begin(), numbers.end());
  EXPECT_EQ(all.size(), 1000u);
  EXPECT_TRUE(*all.begin() >= 0 && *all.rbegin() < 1500);
  EXPECT_FALSE(std::is_sorted(numbers.begin(), numbers.end()));
}

TEST_F(InputsTest, RowStartsRiseToTheNonzerosAndASkewMakesLaterRowsLonger) {
  for (const double skew : {0.0, 1.0}) {
    const BufferPlan plan{"S",      DType::i32,   {1001},
                          Role::in, "row_starts", {{"nonzeros", 16000}, {"skew", skew}}};
    const std::vector<std::int32_t> starts = made(plan, 1);
    EXPECT_EQ(starts.front(), 0);
    EXPECT_EQ(starts.back(), 16000);
    EXPECT_TRUE(std::is_sorted(starts.begin(), starts.end()));
    EXPECT_NEAR(starts[500], skew > 0 ? 4000 : 8000, 40);
  }
}

TEST_F(InputsTest, NormalNumbersHaveTheirMeanAndDeviation) {
  const BufferPlan plan{"N", DType::f64, {100000}, Role::in, "normal", {{"mean", 3}, {"std", 0.5}}};
  double sum = 0, squares = 0;
  for (const double value : made<double>(plan, 1)) {
    sum += value;
    squares += (value - 3) * (value - 3);
  }
  EXPECT_NEAR(sum / 100000, 3, 0.01);
  EXPECT_NEAR(squares / 100000, 0.25, 0.01);
}

// Weights, their scales and their shifts had their large values at the same places, in one row.
// There the parts of a layer norm cancelled, and an honest kernel that folds the scales was
// refused.
TEST_F(InputsTest, LargeValuesLieElsewhereInEachInput) {
  constexpr std::int64_t kRows = 64, kColumns = 1024;
  const auto planted = [&](const char* name) {
    const BufferPlan plan{name, DType::f64, {kRows, kColumns}, Role::in, "normal", {}};
    std::set<std::size_t> places;
    const std::vector<double> values = made<double>(plan, 1, DataKind::planted);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::abs(values[i]) == 32) places.insert(i);  // the root of a row's length
    }
    return places;
  };
  const std::set<std::size_t> first = planted("A"), second = planted("B");
  EXPECT_GE(first.size(), std::size_t{kRows});
  EXPECT_LE(first.size(), std::size_t{3 * kRows});
  std::vector<std::size_t> common;
  std::ranges::set_intersection(first, second, std::back_inserter(common));
  EXPECT_LE(common.size(), 3u);
  EXPECT_EQ(planted("A"), first);
}

TEST_F(InputsTest, SmallNumbersUseTheirRangeAndNoMore) {
  const BufferPlan plan{"Y", DType::e4m3, {100000}, Role::in, "normal", {}};
  int large = 0;
  for (const std::uint8_t byte : made<std::uint8_t>(plan, 1)) {
    const int code = byte & 0x7F;
    ASSERT_NE(code, 0x7F);          // NaN
    large += code >= 0x70 ? 1 : 0;  // what rounds to 128: 1.94 standard deviations
  }
  EXPECT_NEAR(large, 5270, 400);
}

}  // namespace
}  // namespace assay
