// Order statistics, distribution-free: GPU times are skewed and have outliers, so neither a mean
// nor a normal interval describes them.
//
// Both intervals come from one argument. Sort m candidate values; the interval from the k-th
// smallest to the k-th largest misses the truth with probability 2 P(T <= k-1), where T is the
// test's statistic under the null hypothesis. k is the largest rank that keeps this at 5 % or less:
//   median of n samples:  m = n, T ~ Binomial(n, 1/2)                     (Conover 1999, 3.2)
//   centre of n pairs:    m = n(n+1)/2 Walsh averages, T ~ signed rank   (Hollander, Wolfe and
//                                                                         Chicken 2013, 3.2-3.3)

#include "base/stats.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace assay {
namespace {

constexpr double kTail = 0.025;                    // each side of a 95 % interval
constexpr double kNormalTail = 1.959963984540054;  // its quantile of the standard normal

// The exact null distribution of the signed rank takes n^3/2 additions: 0.5 million at 100. Beyond,
// the normal approximation with continuity correction is at most one rank of 2000 wider.
constexpr std::size_t kMostExactPairs = 100;

/// The k-th smallest, counting from 1; leaves smaller ones before it and larger ones after.
double kth_smallest(std::vector<double>& values, std::size_t k) {
  const auto position = values.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(values.begin(), position, values.end());
  return *position;
}

double median_in_place(std::vector<double>& values) {
  const std::size_t n = values.size();
  const double upper = kth_smallest(values, n / 2 + 1);
  if (n % 2 == 1) return upper;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(n / 2);
  return std::midpoint(*std::max_element(values.begin(), middle), upper);
}

/// The largest k with P(Binomial(n, 1/2) <= k-1) <= kTail. Terms are carried as logarithms: 2^-n
/// underflows from n = 1075 on.
std::size_t binomial_rank(std::size_t n) {
  double log_term = -static_cast<double>(n) * std::numbers::ln2;
  double tail = 0;
  for (std::size_t k = 0;; ++k) {
    tail += std::exp(log_term);
    if (tail > kTail) return k;
    log_term += std::log(static_cast<double>(n - k) / static_cast<double>(k + 1));
  }
}

/// The largest k with P(signed rank of n pairs <= k-1) <= kTail.
std::size_t signed_rank(std::size_t n) {
  if (n > kMostExactPairs) {
    const double pairs = static_cast<double>(n);
    const double mean = pairs * (pairs + 1) / 4;
    const double deviation = std::sqrt(pairs * (pairs + 1) * (2 * pairs + 1) / 24);
    return static_cast<std::size_t>(mean - kNormalTail * deviation + 0.5);
  }
  // chance[s] = P(signed rank = s): each rank i counts or not, with probability 1/2 each.
  std::vector<double> chance(n * (n + 1) / 2 + 1, 0.0);
  chance[0] = 1;
  std::size_t most = 0;
  for (std::size_t i = 1; i <= n; ++i) {
    most += i;
    for (std::size_t s = most + 1; s-- > 0;) {
      chance[s] = 0.5 * (chance[s] + (s >= i ? chance[s - i] : 0.0));
    }
  }
  double tail = 0;
  for (std::size_t k = 0;; ++k) {
    tail += chance[k];
    if (tail > kTail) return k;
  }
}

/// The Walsh averages of some values, none of them NaN: the means of all pairs, each value with
/// itself, too. They are not kept: of a thousand values there are half a million.
class WalshAverages {
 public:
  explicit WalshAverages(std::vector<double> values) : sorted_(std::move(values)) {
    std::ranges::sort(sorted_);
  }

  std::size_t size() const { return sorted_.size() * (sorted_.size() + 1) / 2; }

  /// The k-th smallest, counting from 1. Halves what lies between two averages, one no larger and
  /// one no smaller, until few are left.
  double kth_smallest(std::size_t k) const {
    double low = sorted_.front(), high = sorted_.back();
    // How many are less than `low`, and how many no larger than `high`.
    std::size_t below = 0, up_to = size();
    while (low < high && up_to - below > sorted_.size()) {
      const double middle = std::midpoint(low, high);
      const Split split = split_at(middle < high ? middle : low);
      if (split.count >= k) {
        high = split.largest;
        up_to = split.count;
      } else {
        low = split.least_above;
        below = split.count;
      }
    }
    if (low == high) return low;
    std::vector<double> between = those_between(low, high);
    const auto kth = between.begin() + static_cast<std::ptrdiff_t>(k - below - 1);
    std::ranges::nth_element(between, kth);
    return *kth;
  }

  double median() const {
    const double upper = kth_smallest(size() / 2 + 1);
    return size() % 2 == 1 ? upper : std::midpoint(kth_smallest(size() / 2), upper);
  }

 private:
  double average(std::size_t i, std::size_t j) const { return 0.5 * (sorted_[i] + sorted_[j]); }

  /// How many averages are within a limit, the largest of them, and the least of the others.
  struct Split {
    std::size_t count = 0;
    double largest = -std::numeric_limits<double>::infinity();
    double least_above = std::numeric_limits<double>::infinity();
  };

  /// The means of one value with it and all larger ones ascend, so those that count are the first
  /// few; of the next value, no more of the larger ones count.
  Split split_at(double limit) const {
    Split split;
    std::size_t end = sorted_.size();
    for (std::size_t i = 0; i < end; ++i) {
      while (end > i && average(i, end - 1) > limit) --end;
      split.count += end - i;
      if (end > i) split.largest = std::max(split.largest, average(i, end - 1));
      if (end < sorted_.size()) split.least_above = std::min(split.least_above, average(i, end));
    }
    return split;
  }

  /// The averages from `low` to `high`.
  std::vector<double> those_between(double low, double high) const {
    std::vector<double> between;
    std::size_t begin = sorted_.size(), end = begin;
    for (std::size_t i = 0; i < end; ++i) {
      while (begin > 0 && average(i, begin - 1) >= low) --begin;
      while (end > 0 && average(i, end - 1) > high) --end;
      for (std::size_t j = std::max(begin, i); j < end; ++j) between.push_back(average(i, j));
    }
    return between;
  }

  std::vector<double> sorted_;
};

}  // namespace

double median(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("median of no values");
  std::vector<double> copy(values.begin(), values.end());
  return median_in_place(copy);
}

double midmean(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("midmean of no values");
  std::vector<double> copy(values.begin(), values.end());
  std::ranges::sort(copy);
  const std::size_t quarter = copy.size() / 4;
  const auto middle = std::span(copy).subspan(quarter, copy.size() - 2 * quarter);
  return std::accumulate(middle.begin(), middle.end(), 0.0) / static_cast<double>(middle.size());
}

Interval median_interval(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("median interval of no values");
  std::vector<double> copy(values.begin(), values.end());
  const double middle = median_in_place(copy);
  const std::size_t n = copy.size();
  if (n < kFewestValues) {
    return {middle, -std::numeric_limits<double>::infinity(),
            std::numeric_limits<double>::infinity()};
  }
  const std::size_t k = binomial_rank(n);
  return {middle, kth_smallest(copy, k), kth_smallest(copy, n + 1 - k)};
}

Interval median_or_range(std::span<const double> values) {
  Interval interval = median_interval(values);
  if (values.size() < kFewestValues) {
    const auto [low, high] = std::ranges::minmax_element(values);
    interval = {interval.value, *low, *high};
  }
  return interval;
}

Interval paired_ratio(std::span<const double> numerator, std::span<const double> denominator) {
  const std::size_t n = numerator.size();
  if (n == 0 || n != denominator.size()) {
    throw std::invalid_argument("paired ratio needs one value of each per round");
  }
  const auto is_time = [](double value) { return value > 0 && std::isfinite(value); };
  if (!std::ranges::all_of(numerator, is_time) || !std::ranges::all_of(denominator, is_time)) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    return {kNone, kNone, kNone};
  }
  // A difference of logarithms, not the logarithm of a quotient: swapping the two changes only the
  // sign, exactly, and equal values give exactly 0.
  std::vector<double> difference(n);
  for (std::size_t i = 0; i < n; ++i) {
    difference[i] = std::log(numerator[i]) - std::log(denominator[i]);
  }
  const WalshAverages averages(std::move(difference));
  const double centre = std::exp(averages.median());
  if (n < kFewestValues) return {centre, 0, std::numeric_limits<double>::infinity()};
  const std::size_t k = signed_rank(n);
  return {centre, std::exp(averages.kth_smallest(k)),
          std::exp(averages.kth_smallest(averages.size() + 1 - k))};
}

}  // namespace assay
