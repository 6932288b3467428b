#include "search/points.h"

#include <algorithm>

namespace assay {

void Points::add(std::span<const int> point) {
  values_.insert(values_.end(), point.begin(), point.end());
  ++size_;
}

std::optional<std::size_t> Points::find(std::span<const int> point) const {
  std::size_t low = 0;
  for (std::size_t high = size_; low < high;) {
    const std::size_t middle = low + (high - low) / 2;
    const std::span<const int> other = (*this)[middle];
    if (std::lexicographical_compare(other.begin(), other.end(), point.begin(), point.end())) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == size_ || !std::equal(point.begin(), point.end(), (*this)[low].begin())) return {};
  return low;
}

std::size_t Points::num_different(std::size_t one, std::size_t other) const {
  std::size_t count = 0;
  for (std::size_t param = 0; param < num_values_.size(); ++param) {
    count += (*this)[one][param] != (*this)[other][param];
  }
  return count;
}

std::size_t Points::first_different(std::size_t one, std::size_t other) const {
  const std::span<const int> a = (*this)[one], b = (*this)[other];
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
}

std::vector<std::size_t> Points::neighbours(std::size_t index) const {
  std::vector<int> point((*this)[index].begin(), (*this)[index].end());
  std::vector<std::size_t> found;
  for (std::size_t param = 0; param < point.size(); ++param) {
    const int own = point[param];
    for (int value = 0; value < num_values_[param]; ++value) {
      point[param] = value;
      if (value == own) continue;
      if (const auto at = find(point)) found.push_back(*at);
    }
    point[param] = own;
  }
  return found;
}

}  // namespace assay
