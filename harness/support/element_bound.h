#pragma once

#include <cmath>

namespace assay {

/// How far an element may be from its reference. The size of a sum's terms is the root of the sum
/// of their squares.
struct ElementBound {
  double of_value = 0;  // in ratio to the reference
  double of_terms = 0;  // in ratio to the size of the terms
  double size = 0;      // of the terms of an element whose own are not known
  double floor = 0;

  /// Of an element's terms; `squared_terms` is 0 where they are not known. support.cu mirrors both.
  double size_of(double squared_terms) const {
    constexpr double kLeastSquares = 0x1p-100;  // fp32 can hold no smaller squares well
    return squared_terms >= kLeastSquares ? std::sqrt(squared_terms) : size;
  }
  double at(double reference, double squared_terms = 0) const {
    return of_value * std::abs(reference) + of_terms * size_of(squared_terms) + floor;
  }
};

}  // namespace assay
