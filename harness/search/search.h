#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "spec/sweep_spec.h"

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

/// Gives a parameter of `point` each of its other values in turn, calls `visit` for each, and gives
/// it back its own.
template <typename Visit>
void for_others(const Points& points, std::vector<int>& point, std::size_t param,
                const Visit& visit) {
  const int own = point[param];
  for (point[param] = 0; point[param] < points.num_values()[param]; ++point[param]) {
    if (point[param] != own) visit();
  }
  point[param] = own;
}

/// What is known of one point that was proposed.
struct Observation {
  enum class Is {
    pending,  // nothing yet
    timed,    // correct; `time_ns` is its time
    bound,  // correct, and given up because others are clearly faster: it takes at least `time_ns`
    failed,
  };
  std::size_t index = 0;  // into the points
  Is is = Is::pending;
  double time_ns = 0;
};

/// The order in which to try the points of a space. A pure function of its arguments, so that the
/// same seed and the same times give the same order on any machine.
///
/// `exhaustive` goes through the points in the order of the space. With a budget, which may end it
/// early, it takes them in the order of `random`: a sample of the whole space, drawn with the seed.
/// `model` looks for the fastest. `automatic` is `exhaustive` without a budget or with one for all
/// points, else `model`.
///
/// Proposes up to `count` points that are not in `history`, fewer when the space or the budget
/// (SearchSpec::budget_configs) is used up. `history` holds what was proposed or known before, in
/// that order.
std::vector<std::size_t> propose(const SearchSpec& search, const Points& points,
                                 const std::vector<Observation>& history, std::size_t count);

/// How much faster than the fastest so far an untried point may be, as a ratio: 0.02 is 2 %. By the
/// account of the model no point is faster by more than that, with a probability of kGainSureness.
/// Nothing while too little is known. Other than propose(), it looks at no budget.
std::optional<double> gain_left(const SearchSpec& search, const Points& points,
                                const std::vector<Observation>& history);
inline constexpr double kGainSureness = 0.9;

/// Whether what is proposed depends on times. Then few proposals should wait for theirs.
bool learns(const SearchSpec& search, std::size_t num_points);

/// How many points are drawn before a strategy looks at times: a climb from fewer is worse than a
/// random search in the worst tenth.
inline constexpr std::size_t kNumDrawn = 20;

/// What the strategies share: what is known of each point, and the proposals so far.
class Trail {
 public:
  Trail(const Points& points, const std::vector<Observation>& history, std::size_t count);

  const Points& points;
  const std::vector<Observation>& history;

  std::size_t count() const { return count_; }
  bool full() const { return proposed_.size() == count_; }
  bool is_known(std::size_t index) const { return observed_[index] != kUnknown; }
  bool has_failed(std::size_t index) const;
  /// Proposes a point unless it is known or proposed, or the trail is full.
  void propose(std::size_t index);
  /// Proposes random points until a search has enough to start with: the history, which may be
  /// another search's, counts.
  void start(const SearchSpec& search);
  std::vector<std::size_t> take() { return std::move(proposed_); }

 private:
  static constexpr std::uint32_t kUnknown = 0, kProposed = UINT32_MAX;
  const std::size_t count_;
  std::vector<std::uint32_t> observed_;  // by point: 1 + its place in the history
  std::vector<std::size_t> proposed_;
};

// Each proposes until the trail is full or it has nothing more to say.
void propose_random(const SearchSpec& search, Trail& trail);
void propose_model(const SearchSpec& search, Trail& trail);

}  // namespace assay
