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
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
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

/// The largest k with P(signed rank of n pairs <= k-1) <= kTail, for each n up to kMostExactPairs.
std::array<std::size_t, kMostExactPairs + 1> exact_signed_ranks() {
  std::array<std::size_t, kMostExactPairs + 1> ranks{};
  // chance[s] = P(signed rank = s): each rank i counts or not, with probability 1/2 each.
  std::vector<double> chance(kMostExactPairs * (kMostExactPairs + 1) / 2 + 1, 0.0);
  chance[0] = 1;
  std::size_t most = 0;
  for (std::size_t n = 1; n <= kMostExactPairs; ++n) {
    most += n;
    for (std::size_t s = most + 1; s-- > 0;) {
      chance[s] = 0.5 * (chance[s] + (s >= n ? chance[s - n] : 0.0));
    }
    for (double tail = chance[0]; tail <= kTail; tail += chance[ranks[n]]) ++ranks[n];
  }
  return ranks;
}

std::size_t signed_rank(std::size_t n) {
  static const auto kExact = exact_signed_ranks();
  if (n <= kMostExactPairs) return kExact[n];
  const double pairs = static_cast<double>(n);
  const double mean = pairs * (pairs + 1) / 4;
  const double deviation = std::sqrt(pairs * (pairs + 1) * (2 * pairs + 1) / 24);
  return static_cast<std::size_t>(mean - kNormalTail * deviation + 0.5);
}

/// The Walsh averages of some values, none of them NaN: the means of all pairs, each value with
/// itself, too. They are not kept: of a thousand values there are half a million.
class WalshAverages {
 public:
  explicit WalshAverages(std::vector<double> values) : sorted_(std::move(values)) {
    std::ranges::sort(sorted_);
  }

  std::size_t size() const { return sorted_.size() * (sorted_.size() + 1) / 2; }

  /// The k-th smallest for each k of `ranks`, which count from 1 and ascend.
  std::vector<double> smallest(std::span<const std::size_t> ranks) const {
    std::vector<double> found;
    find({sorted_.front(), sorted_.back(), 0, size()}, ranks, true, found);
    return found;
  }

 private:
  /// Two averages, how many are less than the first, and how many no larger than the second.
  struct Bracket {
    double low, high;
    std::size_t below, up_to;
  };

  /// Splits what lies in the bracket until few are left, in halves, and in turn where the middle
  /// one of the ranks would be if averages were spread evenly.
  void find(const Bracket& in, std::span<const std::size_t> ranks, bool halve,
            std::vector<double>& found) const {
    if (ranks.empty()) return;
    const std::size_t num_between = in.up_to - in.below;
    if (in.low == in.high) {
      found.insert(found.end(), ranks.size(), in.low);
    } else if (num_between <= sorted_.size()) {
      std::vector<double> between = those_between(in.low, in.high);
      for (const std::size_t k : ranks) found.push_back(kth_smallest(between, k - in.below));
    } else {
      const auto before = static_cast<double>(ranks[ranks.size() / 2] - in.below) - 0.5;
      const double share = halve ? 0.5 : before / static_cast<double>(num_between);
      const double limit = std::lerp(in.low, in.high, share);
      const Split split = split_at(limit < in.high ? limit : in.low);
      const auto above = std::ranges::upper_bound(ranks, split.count);
      find({in.low, split.largest, in.below, split.count}, {ranks.begin(), above}, !halve, found);
      find({split.least_above, in.high, split.count, in.up_to}, {above, ranks.end()}, !halve,
           found);
    }
  }

  double average(std::size_t i, std::size_t j) const { return 0.5 * (sorted_[i] + sorted_[j]); }

  /// How many averages are within a limit, the largest of them, and the least of the others.
  struct Split {
    std::size_t count;
    double largest, least_above;
  };

  /// The means of one value with it and all larger ones ascend, so those that count are the first
  /// few; of the next value, no more of the larger ones count.
  Split split_at(double limit) const {
    std::size_t count = 0, end = sorted_.size();
    double largest = -std::numeric_limits<double>::infinity(), least_above = -largest;
    for (std::size_t i = 0; i < end; ++i) {
      while (end > i && average(i, end - 1) > limit) --end;
      count += end - i;
      if (end > i) largest = std::max(largest, average(i, end - 1));
      if (end < sorted_.size()) least_above = std::min(least_above, average(i, end));
    }
    return {count, largest, least_above};
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
  const std::size_t size = averages.size(), k = n < kFewestValues ? 1 : signed_rank(n);
  const auto found = averages.smallest(std::array{k, (size + 1) / 2, size / 2 + 1, size + 1 - k});
  const double centre = std::exp(std::midpoint(found[1], found[2]));
  if (n < kFewestValues) return {centre, 0, std::numeric_limits<double>::infinity()};
  return {centre, std::exp(found[0]), std::exp(found[3])};
}

}  // namespace assay
