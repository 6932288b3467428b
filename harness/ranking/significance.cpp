#include "ranking/significance.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace assay {
namespace {

// Beyond, Student's t differs from the normal distribution by less than 1 % of a tail of 1e-6.
constexpr double kNormalDof = 1e5;

/// The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by
/// Lentz's method. It converges in some sqrt(max(a, b)) steps where x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kMostSteps = 10000;
  const auto away_from_0 = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_0(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMostSteps; ++m) {
    for (const double term : {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                              -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 / away_from_0(1 + term * d);
      c = away_from_0(1 + term / c);
      fraction *= c * d;
    }
    if (std::abs(c * d - 1) < 1e-14) break;
  }
  return fraction;
}

/// The regularized incomplete beta function I_x(a, b).
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double t_tail(double t, double dof) {
  if (std::isnan(t)) return 0.5;
  if (dof > kNormalDof) return 0.5 * std::erfc(t / std::numbers::sqrt2);
  const double outside = std::isinf(t) ? 0 : incomplete_beta(dof / 2, 0.5, dof / (dof + t * t));
  return t >= 0 ? outside / 2 : 1 - outside / 2;
}

double t_of_95_percent(double dof) {
  double low = 0;
  double high = 1000;
  for (int i = 0; i < 60; ++i) {
    const double middle = std::midpoint(low, high);
    (t_tail(middle, dof) > 0.025 ? low : high) = middle;
  }
  return high;
}

std::vector<double> adjusted_p(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
  std::vector<double> adjusted(p.size());
  double least = 1;
  const auto n = static_cast<double>(p.size());
  for (std::size_t i = 0; i < order.size(); ++i) {  // largest first
    least = std::min(least, p[order[i]] * (n / (n - static_cast<double>(i))));
    adjusted[order[i]] = least;
  }
  return adjusted;
}

}  // namespace assay
