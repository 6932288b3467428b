#include "search/gaussian.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace assay {
namespace {

// Where learning starts, and how far from it, in logarithms, it goes unasked: exp(-0.3) of likeness
// for another value, exp(-0.5) for the other end of the range.
constexpr double kAny = -1.2, kRange = -0.7, kSpread = 1.5;
// Steps in logarithms, and of how many points the misfit is: one pass over the parameters for each.
// The first pass is coarse, and the fewer points, the less each step costs.
struct Pass {
  double step;
  std::size_t num_points;
};
constexpr Pass kPasses[] = {{1.5, GaussianProcess::kMaxLearned / 2},
                            {0.75, GaussianProcess::kMaxLearned}};
// More parameters are not learned: it would take longer than the trials that it saves.
constexpr std::size_t kMaxParams = 24;
constexpr double kLeastNoise = 1e-4;

// So many rows are taken at once: one by one, most of the time goes into loads and stores.
constexpr std::size_t kRows = 4;

/// to[i] -= the sum of factors[k] * rows[k * stride + i] over kRows of k
void subtract_rows(double* to, const double* factors, const double* rows, std::size_t stride,
                   std::size_t size) {
  const double *a = rows, *b = a + stride, *c = b + stride, *d = c + stride;
  const double fa = factors[0], fb = factors[1], fc = factors[2], fd = factors[3];
  for (std::size_t i = 0; i < size; ++i) to[i] -= (fa * a[i] + fb * b[i]) + (fc * c[i] + fd * d[i]);
}

/// sum(a[i] * b[i]), with sums of their own for neighbours: one after the other, each addition
/// waits for the one before.
double dot(const double* a, const float* b, std::size_t size) {
  double sums[kRows] = {};
  std::size_t i = 0;
  for (; i + kRows <= size; i += kRows) {
    for (std::size_t k = 0; k < kRows; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (; i < size; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

GaussianProcess::GaussianProcess(std::vector<int> num_values, std::vector<Point> points,
                                 std::vector<double> values)
    : num_values_(std::move(num_values)),
      points_(std::move(points)),
      values_(std::move(values)),
      weights_(num_values_.size(), {kAny, kRange}),
      factors_(num_values_.size()) {
  mean_ = std::accumulate(values_.begin(), values_.end(), 0.0) /
          static_cast<double>(std::max<std::size_t>(values_.size(), 1));
  for (double& value : values_) value -= mean_;
  learn();
  fit();
}

/// How alike the first points are to each value of a parameter, by its weights.
void GaussianProcess::set_likeness(std::size_t param, std::size_t num_points) {
  const auto num_values = static_cast<std::size_t>(num_values_[param]);
  const double any = std::exp(weights_[param].any);
  const double range =
      num_values > 2 ? std::exp(weights_[param].range) / static_cast<double>(num_values - 1) : 0;
  std::vector<float> by_steps(num_values, 1);
  for (std::size_t steps = 1; steps < num_values; ++steps) {
    by_steps[steps] = static_cast<float>(std::exp(-any - range * static_cast<double>(steps)));
  }
  factors_[param].resize(num_values);
  for (std::size_t value = 0; value < num_values; ++value) {
    std::vector<float>& row = factors_[param][value];
    row.resize(num_points);
    for (std::size_t i = 0; i < num_points; ++i) {
      const int steps = std::abs(points_[i][param] - static_cast<int>(value));
      row[i] = by_steps[static_cast<std::size_t>(steps)];
    }
  }
}

/// How alike a point is to so many points, from the `begin`th.
void GaussianProcess::likenesses(Point point, std::size_t begin, std::span<float> found) const {
  const std::size_t size = found.size(), num_params = factors_.size();
  const auto factors = [&](std::size_t param) {
    return &factors_[param][static_cast<std::size_t>(point[param])][begin];
  };
  std::size_t param = 0;
  std::ranges::fill(found, 1.0F);
  for (; param + kRows <= num_params; param += kRows) {
    const float *a = factors(param), *b = factors(param + 1);
    const float *c = factors(param + 2), *d = factors(param + 3);
    for (std::size_t i = 0; i < size; ++i) found[i] *= (a[i] * b[i]) * (c[i] * d[i]);
  }
  for (; param < num_params; ++param) {
    const float* row = factors(param);
    for (std::size_t i = 0; i < size; ++i) found[i] *= row[i];
  }
}

/// Factors the first points' likenesses. Returns how badly their values fit: the negative logarithm
/// of their likelihood, with the variance that fits best.
double GaussianProcess::misfit(std::size_t n) {
  root_.resize(n * n);
  half_solved_.assign(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(n));
  double log_determinant = 0, squares = 0;
  std::vector<float> alike(n);
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t rest = n - k;
    double* row = &root_[k * n + k];
    likenesses(points_[k], k, std::span(alike).first(rest));
    std::copy_n(alike.begin(), rest, row);
    row[0] += noise_;
    const std::size_t first = k / kRows * kRows;
    for (std::size_t above = 0; above < first; above += kRows) {
      const double* rows = &root_[above * n + k];
      const double factors[kRows] = {rows[0], rows[n], rows[2 * n], rows[3 * n]};
      subtract_rows(row, factors, rows, n, rest);
    }
    for (std::size_t above = first; above < k; ++above) {
      const double* other = &root_[above * n + k];
      const double factor = other[0];
      for (std::size_t i = 0; i < rest; ++i) row[i] -= factor * other[i];
    }
    const double pivot = std::sqrt(std::max(row[0], 1e-10)), inverse = 1 / pivot;
    for (std::size_t i = 1; i < rest; ++i) row[i] *= inverse;
    row[0] = pivot;
    const double solved = half_solved_[k] * inverse;
    for (std::size_t i = 1; i < rest; ++i) half_solved_[k + i] -= solved * row[i];
    half_solved_[k] = solved;
    squares += solved * solved;
    log_determinant += std::log(pivot);
  }
  variance_ = squares / static_cast<double>(std::max<std::size_t>(n, 1)) + 1e-12;
  return 0.5 * static_cast<double>(n) * std::log(variance_) + log_determinant;
}

/// Moves one weight after another up or down where the values then fit better, by more than it is
/// unlikely to be so far from where it started.
void GaussianProcess::learn() {
  const auto penalty = [](double distance) {
    return 0.5 * distance * distance / kSpread / kSpread;
  };
  const std::size_t num_params = std::min(weights_.size(), kMaxParams);
  for (const Pass& pass : kPasses) {
    const std::size_t n = std::min(points_.size(), pass.num_points);
    for (std::size_t param = 0; param < weights_.size(); ++param) set_likeness(param, n);
    double best = misfit(n);
    const auto try_step = [&](double& weight, double start, auto set) {
      for (const double to : {weight + pass.step, weight - pass.step}) {
        const double old = std::exchange(weight, to);
        set();
        const double change = penalty(to - start) - penalty(old - start);
        const double now = misfit(n);
        if (now + change < best) {
          best = now;
          return;
        }
        weight = old;
        set();
      }
    };
    for (std::size_t param = 0; param < num_params; ++param) {
      const auto set = [&] { set_likeness(param, n); };
      if (num_values_[param] > 1) try_step(weights_[param].any, kAny, set);
      if (num_values_[param] > 2) try_step(weights_[param].range, kRange, set);
    }
    double log_noise = std::log(noise_);
    try_step(log_noise, std::log(0.01),
             [&] { noise_ = std::max(std::exp(log_noise), kLeastNoise); });
  }
}

/// Learns the values of all points, with the likenesses as they are.
void GaussianProcess::fit() {
  for (std::size_t param = 0; param < weights_.size(); ++param) set_likeness(param, points_.size());
  misfit(points_.size());
  const std::size_t n = half_solved_.size();
  solved_ = half_solved_;
  for (std::size_t k = n; k-- > 0;) {
    const double* row = &root_[k * n];
    for (std::size_t i = k + 1; i < n; ++i) solved_[k] -= row[i] * solved_[i];
    solved_[k] /= row[k];
  }
}

double GaussianProcess::mean(Point point) const {
  std::vector<float> alike(solved_.size());
  likenesses(point, 0, alike);
  return mean_ + dot(solved_.data(), alike.data(), alike.size());
}

GaussianProcess::Guess GaussianProcess::guess(Point point) const {
  const std::size_t n = solved_.size();
  std::vector<float> alike(n);
  likenesses(point, 0, alike);
  std::vector<double> rest(alike.begin(), alike.end());
  double known = 0;
  for (std::size_t begin = 0; begin < n; begin += kRows) {
    const std::size_t end = std::min(begin + kRows, n);
    for (std::size_t k = begin; k < end; ++k) {
      const double* row = &root_[k * n];
      rest[k] /= row[k];
      known += rest[k] * rest[k];
      for (std::size_t i = k + 1; i < end; ++i) rest[i] -= rest[k] * row[i];
    }
    if (end < n) subtract_rows(&rest[end], &rest[begin], &root_[begin * n + end], n, n - end);
  }
  return {mean_ + dot(solved_.data(), alike.data(), n),
          std::sqrt(std::max(1 - known, 1e-6) * variance_)};
}

void GaussianProcess::believe(const std::vector<Point>& points) {
  if (points.empty()) return;
  std::vector<double> values;
  for (const Point& point : points) values.push_back(mean(point) - mean_);
  points_.insert(points_.end(), points.begin(), points.end());
  values_.insert(values_.end(), values.begin(), values.end());
  const double variance = variance_;
  fit();
  variance_ = variance;  // what is believed is no evidence
}

}  // namespace assay
