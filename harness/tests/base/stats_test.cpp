#include "base/stats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> shuffled_ranks(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  std::shuffle(values.begin(), values.end(), std::mt19937_64(n));
  return values;
}

TEST(Median, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median(std::vector{7.0}), 7);
  EXPECT_EQ(median(std::vector{4.0, 1.0}), 2.5);
  EXPECT_EQ(median(std::vector{9.0, 1.0, 5.0}), 5);
  for (std::size_t n = 1; n <= 50; ++n) {
    EXPECT_EQ(median(shuffled_ranks(n)), static_cast<double>(n + 1) / 2) << n;
  }
}

TEST(Median, RefusesNoValues) {
  EXPECT_THROW(median({}), std::invalid_argument);
  EXPECT_THROW(median_interval({}), std::invalid_argument);
}

// Ranks of the tabulated 95 % interval of a median: P(Binomial(n, 1/2) < rank) <= 2.5 %.
TEST(MedianInterval, TakesTheTabulatedRanks) {
  const std::vector<std::pair<std::size_t, std::size_t>> ranks = {
      {6, 1}, {8, 1}, {9, 2}, {10, 2}, {12, 3}, {15, 4}, {20, 6}, {25, 8}, {30, 10}, {100, 40}};
  for (auto [n, rank] : ranks) {
    const Interval interval = median_interval(shuffled_ranks(n));
    EXPECT_EQ(interval.low, static_cast<double>(rank)) << n;
    EXPECT_EQ(interval.high, static_cast<double>(n + 1 - rank)) << n;
  }
}

TEST(MedianInterval, HasNoBoundsBelowSixValues) {
  for (std::size_t n = 1; n < 6; ++n) {
    const Interval interval = median_interval(shuffled_ranks(n));
    EXPECT_EQ(interval.low, -kInfinity);
    EXPECT_EQ(interval.high, kInfinity);
    EXPECT_EQ(interval.value, static_cast<double>(n + 1) / 2);
  }
}

// 2^-n is no double from n = 1075 on; the ranks approach n/2 - 0.98 sqrt(n).
TEST(MedianInterval, HoldsForThousandsOfValues) {
  for (std::size_t n : {1000u, 1074u, 1075u, 20000u}) {
    const double size = static_cast<double>(n);
    EXPECT_NEAR(median_interval(shuffled_ranks(n)).low, size / 2 - 0.98 * std::sqrt(size), 1.5);
  }
}

/// Pairs whose log-ratios are `differences`.
Interval ratio_of(const std::vector<double>& differences) {
  std::vector<double> numerator, ones(differences.size(), 1.0);
  for (double difference : differences) numerator.push_back(std::exp(difference));
  return paired_ratio(numerator, ones);
}

// Hollander, Wolfe and Chicken, example 3.1 (depression scores of nine patients): estimate 0.46,
// 96 % interval 0.010 to 0.786.
TEST(PairedRatio, AgreesWithTheTextbook) {
  const Interval ratio =
      ratio_of({0.952, -0.147, 1.022, 0.430, 0.620, 0.590, 0.490, -0.080, 0.010});
  EXPECT_NEAR(std::log(ratio.value), 0.460, 1e-9);
  EXPECT_NEAR(std::log(ratio.low), 0.010, 1e-9);
  EXPECT_NEAR(std::log(ratio.high), 0.786, 1e-9);
}

/// In ascending order.
std::vector<double> walsh_averages(const std::vector<double>& differences) {
  std::vector<double> walsh;
  for (auto a = differences.begin(); a != differences.end(); ++a) {
    for (auto b = a; b != differences.end(); ++b) walsh.push_back(0.5 * (*a + *b));
  }
  std::ranges::sort(walsh);
  return walsh;
}

// Critical values of the two-sided signed-rank test at 5 %; 110 and 140 lie past the switch to
// the normal approximation, and their exact values are 2395 and 3993.
TEST(PairedRatio, TakesTheTabulatedRanks) {
  const std::vector<std::pair<std::size_t, std::size_t>> critical = {
      {6, 0},   {7, 2},   {8, 3},    {9, 5},    {10, 8},     {12, 13},    {15, 25},
      {20, 52}, {25, 89}, {30, 137}, {50, 434}, {100, 1955}, {110, 2394}, {140, 3992}};
  std::mt19937_64 random(5);
  for (auto [n, value] : critical) {
    std::vector<double> differences(n);
    for (double& d : differences) d = std::normal_distribution<>()(random);
    const std::vector<double> walsh = walsh_averages(differences);
    const Interval ratio = ratio_of(differences);
    EXPECT_NEAR(std::log(ratio.low), walsh[value], 1e-9) << n;
    EXPECT_NEAR(std::log(ratio.high), walsh[walsh.size() - 1 - value], 1e-9) << n;
  }
}

// A clock's ticks make many ratios equal, and many exactly one.
TEST(PairedRatio, IsOfTheWalshAveragesWithoutKeepingThem) {
  std::mt19937_64 random(7);
  for (std::size_t n = 1; n <= 60; ++n) {
    std::vector<double> a(n), b(n), differences(n);
    const int num_ticks = 1 + static_cast<int>(n % 7);
    for (double& time : a) time = 6 + 0.032 * std::uniform_int_distribution(0, num_ticks)(random);
    for (double& time : b) time = 6 + 0.032 * std::uniform_int_distribution(0, num_ticks)(random);
    for (std::size_t i = 0; i < n; ++i) differences[i] = std::log(a[i]) - std::log(b[i]);
    const std::vector<double> walsh = walsh_averages(differences);
    const Interval ratio = paired_ratio(a, b);
    EXPECT_EQ(ratio.value, std::exp(median(walsh))) << n;
    if (n < 6) continue;
    const auto is_one = [&](double end) {
      return std::any_of(walsh.begin(), walsh.end(),
                         [&](double average) { return std::exp(average) == end; });
    };
    EXPECT_TRUE(is_one(ratio.low) && is_one(ratio.high)) << n;
  }
}

// Differences that are NaN were sorted, of which anything may come.
TEST(PairedRatio, OfWhatIsNoTimeIsNone) {
  const std::vector<double> times(7, 2.0);
  for (const double bad : {0.0, -1.0, kInfinity, std::nan("")}) {
    std::vector<double> others = times;
    others[3] = bad;
    for (const Interval& ratio :
         {paired_ratio(others, times), paired_ratio(times, others), paired_ratio(others, others)}) {
      EXPECT_TRUE(std::isnan(ratio.low) && std::isnan(ratio.value) && std::isnan(ratio.high))
          << bad;
    }
  }
}

TEST(PairedRatio, HasNoBoundsBelowSixRounds) {
  for (std::size_t n = 1; n < 6; ++n) {
    const Interval ratio = ratio_of(std::vector<double>(n, std::log(2.0)));
    EXPECT_NEAR(ratio.value, 2, 1e-12);
    EXPECT_EQ(ratio.low, 0);
    EXPECT_EQ(ratio.high, kInfinity);
  }
}

TEST(PairedRatio, RefusesUnpairedValues) {
  const std::vector<double> two = {1, 2}, three = {1, 2, 3};
  EXPECT_THROW(paired_ratio(two, three), std::invalid_argument);
  EXPECT_THROW(paired_ratio({}, {}), std::invalid_argument);
}

TEST(MedianOrRange, OfFewValuesIsTheirRange) {
  const Interval interval = median_or_range(std::vector<double>{3, 1, 2});
  EXPECT_EQ(interval.value, 2);
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.high, 3);
}

}  // namespace
}  // namespace assay
