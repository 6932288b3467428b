#include "search/points.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace assay {

std::size_t Points::slot_of(std::span<const int> point) const {
  std::uint64_t hash = 0;
  for (const int value : point) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9E37'79B9'7F4A'7C15;
  }
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = (hash >> 32) & mask;
  while (slots_[slot] != 0) {
    const std::span<const int> other = (*this)[slots_[slot] - 1];
    if (std::equal(point.begin(), point.end(), other.begin())) break;
    slot = (slot + 1) & mask;
  }
  return slot;
}

void Points::add(std::span<const int> point) {
  values_.insert(values_.end(), point.begin(), point.end());
  ++size_;
  if (2 * size_ > slots_.size()) {
    slots_.assign(std::bit_ceil(4 * size_), 0);
    for (std::size_t i = 0; i + 1 < size_; ++i) {
      slots_[slot_of((*this)[i])] = static_cast<std::uint32_t>(i + 1);
    }
  }
  slots_[slot_of(point)] = static_cast<std::uint32_t>(size_);
}

std::optional<std::size_t> Points::find(std::span<const int> point) const {
  if (size_ == 0) return {};
  const std::uint32_t found = slots_[slot_of(point)];
  return found == 0 ? std::nullopt : std::optional<std::size_t>(found - 1);
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
