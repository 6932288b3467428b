#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "search/search.h"

namespace assay {

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
