#include "search/gaussian.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace assay {
namespace {

// Where learning starts, and how far from it, in logarithms, it goes unasked: exp(-0.3) of likeness
// for another value, exp(-0.5) for the other end of the range.
constexpr double kAny = -1.2, kRange = -0.7, kSpread = 1.5;
// Steps in logarithms, one pass over the parameters for each.
constexpr double kSteps[] = {1.5, 0.75};
// More parameters are not learned: it would take longer than the trials that it saves.
constexpr std::size_t kMaxParams = 24;
constexpr double kLeastNoise = 1e-4;

/// sum(a[i] * b[i]), with sums of their own for neighbours: one after the other takes three times
/// as long.
double dot(const double* a, const double* b, std::size_t size) {
  double sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= size; i += 4) {
    for (std::size_t k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
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
      likeness_(num_values_.size()) {
  mean_ = std::accumulate(values_.begin(), values_.end(), 0.0) /
          static_cast<double>(std::max<std::size_t>(values_.size(), 1));
  for (double& value : values_) value -= mean_;
  for (std::size_t param = 0; param < likeness_.size(); ++param) set_likeness(param);
  learn();
  misfit(points_.size());
  solve();
}

void GaussianProcess::set_likeness(std::size_t param) {
  const auto num_values = static_cast<std::size_t>(num_values_[param]);
  const double any = std::exp(weights_[param].any);
  const double range =
      num_values > 2 ? std::exp(weights_[param].range) / static_cast<double>(num_values - 1) : 0;
  std::vector<float> by_steps(num_values, 1);
  for (std::size_t steps = 1; steps < num_values; ++steps) {
    by_steps[steps] = static_cast<float>(std::exp(-any - range * static_cast<double>(steps)));
  }
  likeness_[param] = std::move(by_steps);
}

double GaussianProcess::likeness(Point a, Point b) const {
  float product = 1;
  for (std::size_t param = 0; param < likeness_.size(); ++param) {
    product *= likeness_[param][static_cast<std::size_t>(std::abs(a[param] - b[param]))];
  }
  return product;
}

/// Factors the first points' likenesses. Returns how badly their values fit: the negative logarithm
/// of their likelihood, with the variance that fits best.
double GaussianProcess::misfit(std::size_t n) {
  root_.assign(n * n, 0);
  half_solved_.assign(n, 0);
  double log_determinant = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double* row = &root_[i * n];
    for (std::size_t k = 0; k < i; ++k) {
      const double* other = &root_[k * n];
      row[k] = (likeness(points_[i], points_[k]) - dot(row, other, k)) / other[k];
    }
    row[i] = std::sqrt(std::max(1 + noise_ - dot(row, row, i), 1e-10));
    half_solved_[i] = (values_[i] - dot(row, half_solved_.data(), i)) / row[i];
    squares += half_solved_[i] * half_solved_[i];
    log_determinant += std::log(row[i]);
  }
  variance_ = squares / static_cast<double>(std::max<std::size_t>(n, 1)) + 1e-12;
  return 0.5 * static_cast<double>(n) * std::log(variance_) + log_determinant;
}

/// Moves one weight after another up or down where the values then fit better, by more than it is
/// unlikely to be so far from where it started.
void GaussianProcess::learn() {
  const std::size_t n = std::min(points_.size(), kMaxLearned);
  const auto penalty = [](double distance) {
    return 0.5 * distance * distance / kSpread / kSpread;
  };
  double best = misfit(n);  // and the penalties of all weights
  const auto try_step = [&](double& weight, double start, double step, auto set) {
    for (const double to : {weight + step, weight - step}) {
      const double old = std::exchange(weight, to);
      set();
      const double change = penalty(to - start) - penalty(old - start);
      const double now = misfit(n) + change;
      if (now < best) {
        best = now - change;
        return;
      }
      weight = old;
      set();
    }
  };
  const std::size_t num_params = std::min(weights_.size(), kMaxParams);
  for (const double step : kSteps) {
    for (std::size_t param = 0; param < num_params; ++param) {
      const auto set = [&] { set_likeness(param); };
      if (num_values_[param] > 1) try_step(weights_[param].any, kAny, step, set);
      if (num_values_[param] > 2) try_step(weights_[param].range, kRange, step, set);
    }
    double log_noise = std::log(noise_);
    try_step(log_noise, std::log(0.01), step,
             [&] { noise_ = std::max(std::exp(log_noise), kLeastNoise); });
  }
}

void GaussianProcess::solve() {
  const std::size_t n = half_solved_.size();
  solved_ = half_solved_;
  for (std::size_t i = n; i-- > 0;) {
    solved_[i] /= root_[i * n + i];
    for (std::size_t k = 0; k < i; ++k) solved_[k] -= root_[i * n + k] * solved_[i];
  }
}

double GaussianProcess::mean(Point point) const {
  double sum = mean_;
  for (std::size_t i = 0; i < solved_.size(); ++i) sum += solved_[i] * likeness(point, points_[i]);
  return sum;
}

GaussianProcess::Guess GaussianProcess::guess(Point point) const {
  const std::size_t n = solved_.size();
  std::vector<double> row(n);
  double sum = mean_, known = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double alike = likeness(point, points_[i]);
    sum += solved_[i] * alike;
    row[i] = (alike - dot(row.data(), &root_[i * n], i)) / root_[i * n + i];
    known += row[i] * row[i];
  }
  return {sum, std::sqrt(std::max(1 - known, 1e-6) * variance_)};
}

void GaussianProcess::believe(const std::vector<Point>& points) {
  if (points.empty()) return;
  std::vector<double> values;
  for (const Point& point : points) values.push_back(mean(point) - mean_);
  points_.insert(points_.end(), points.begin(), points.end());
  values_.insert(values_.end(), values.begin(), values.end());
  const double variance = variance_;
  misfit(points_.size());
  variance_ = variance;  // what is believed is no evidence
  solve();
}

}  // namespace assay
