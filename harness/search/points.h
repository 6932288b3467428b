#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace assay {

/// The valid points of a space, as a search sees them: each has one value index per parameter.
class Points {
 public:
  /// `num_values`: how many values each parameter has.
  explicit Points(std::vector<int> num_values) : num_values_(std::move(num_values)) {}

  /// The points come in the order of nested loops over the parameters, which is the order of
  /// Space::for_each.
  void add(std::span<const int> point);

  std::size_t size() const { return size_; }
  std::span<const int> operator[](std::size_t index) const {
    return std::span(values_).subspan(index * num_values_.size(), num_values_.size());
  }
  const std::vector<int>& num_values() const { return num_values_; }

  /// Says what follows from a point before it is tried, such as blocks or bytes: as many numbers
  /// for each.
  using Description = std::function<std::vector<float>(std::size_t index)>;
  void describe_by(Description description) { description_ = std::move(description); }
  /// Empty where none was given.
  const Description& description() const { return description_; }

  /// Where a point is, if it is valid.
  std::optional<std::size_t> find(std::span<const int> point) const;

  /// In how many parameters two points differ.
  std::size_t num_different(std::size_t one, std::size_t other) const;
  /// The first parameter in which they differ.
  std::size_t first_different(std::size_t one, std::size_t other) const;

  /// The valid points that differ in the value of one parameter, parameter by parameter.
  std::vector<std::size_t> neighbours(std::size_t index) const;

 private:
  /// Where in slots_ a point is, or where it would be.
  std::size_t slot_of(std::span<const int> point) const;

  std::vector<int> num_values_;
  std::vector<int> values_;  // of all points, one after another
  std::size_t size_ = 0;
  // A hash table, because a proposal asks for thousands of points: one more than the index, or 0
  // where a slot is free. It has a power of two of slots, of which half are free or more.
  std::vector<std::uint32_t> slots_;
  Description description_;
};

}  // namespace assay
