#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "search/search.h"

namespace assay::test {

using Point = std::vector<int>;

/// Of parameters with so many values, the points that are valid.
inline Points some_points(const Point& num_values,
                          const std::function<bool(const Point&)>& is_valid) {
  Points points(num_values);
  Point point(num_values.size(), 0);
  for (;;) {
    if (is_valid(point)) points.add(point);
    std::size_t i = point.size();
    while (i > 0 && ++point[i - 1] == num_values[i - 1]) point[--i] = 0;
    if (i == 0) return points;
  }
}

}  // namespace assay::test
