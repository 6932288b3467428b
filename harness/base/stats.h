#pragma once

#include <cstddef>
#include <span>

namespace assay {

/// A value and its 95 % interval.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Below this many values the widest interval there is, minimum to maximum, covers less than 95 %:
/// 2 * 2^-5 > 5 % >= 2 * 2^-6, for the median and for the signed rank alike.
inline constexpr std::size_t kFewestValues = 6;

/// Median of any number of values (mean of the middle two when even). Precondition: not empty.
double median(std::span<const double> values);

/// Mean of the middle half. Outliers do not move it, as long as they are less than a quarter on
/// either side. It is finer than the median, which matters where a clock's tick is a visible part
/// of the values. Precondition: not empty.
double midmean(std::span<const double> values);

/// The order-statistic 95 % interval of the median; distribution-free (exact binomial ranks). With
/// fewer than kFewestValues no such interval exists and low/high are -inf/+inf.
Interval median_interval(std::span<const double> values);

/// The same; with fewer than kFewestValues low/high are their range. Precondition: not empty.
Interval median_or_range(std::span<const double> values);

/// Hodges-Lehmann estimate of the centre of paired log-ratios, with the Wilcoxon signed-rank 95 %
/// interval, as ratios: exp(median of Walsh averages of ln(numerator/denominator)). Both spans hold
/// one value per round. With fewer than kFewestValues low/high are 0/+inf. All three are NaN unless
/// every value is positive and finite.
Interval paired_ratio(std::span<const double> numerator, std::span<const double> denominator);

}  // namespace assay
