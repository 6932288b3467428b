#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace assay {

/// A Gaussian process over points: what is expected of a value from the values of similar points.
///
/// Two points are the less alike the more parameters they differ in. What a parameter counts is
/// learned: how much it matters that it differs at all, and how much by how far, in steps of the
/// order of its values.
class GaussianProcess {
 public:
  using Point = std::span<const int>;
  struct Guess {
    double mean = 0;
    double deviation = 0;  // standard
  };

  /// `points` stay where they are; each has one index below `num_values` per parameter. What
  /// parameters count is learned from the first kMaxLearned of the points.
  GaussianProcess(std::vector<int> num_values, std::vector<Point> points,
                  std::vector<double> values);

  double mean(Point point) const;
  Guess guess(Point point) const;
  /// No guess has a larger deviation.
  double most_deviation() const { return std::sqrt(variance_); }

  /// Takes further points to be just as it guesses, so that it is surer of what is around them.
  void believe(const std::vector<Point>& points);

  static constexpr std::size_t kMaxLearned = 48;

 private:
  /// The logarithms of what it counts that a parameter differs at all, and by its whole range.
  struct Weight {
    double any, range;
  };

  void learn();
  void set_likeness(std::size_t param, std::size_t num_points);
  void likenesses(Point point, std::size_t begin, std::span<float> found) const;
  double misfit(std::size_t num_points);
  void fit();

  std::vector<int> num_values_;
  std::vector<Point> points_;
  std::vector<double> values_;  // less their mean
  double mean_ = 0, variance_ = 1, noise_ = 0.01;
  std::vector<Weight> weights_;
  // By parameter and value: how alike each point is in this parameter. How alike a point is to all
  // others is a product of such rows, one for each parameter.
  std::vector<std::vector<std::vector<float>>> factors_;
  // Of the first n points, K = L L^T: L by columns, L^-1 values, K^-1 values.
  std::vector<double> root_, half_solved_, solved_;
};

}  // namespace assay
