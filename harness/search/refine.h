#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "search/search.h"

namespace assay {

/// What is known of points beside the times of some.
struct Hints {
  /// The fraction of the best speed that a model expects of a point.
  std::function<double(std::size_t index)> expected;
  /// The fastest of similar problems, and what becomes of them here.
  const std::vector<std::size_t>& winners;
  /// By parameter and value: what it is as a factor, of a tile's area for example; 0: of nothing.
  const std::vector<std::vector<double>>& sizes;
};

/// Whether two points differ in a quarter of the parameters or more. Else they are one in another
/// dress.
bool are_apart(const Points& points, std::size_t one, std::size_t other);

/// Those of `history` that were timed, fastest first.
std::vector<Observation> fastest_first(const Points& points,
                                       const std::vector<Observation>& history);

/// Points near the fastest of `history`, at most `count` and none of `known`; the most hopeful
/// first. Nothing where nothing was timed.
std::vector<std::size_t> refine(const Points& points, const std::vector<Observation>& history,
                                const Hints& hints, const std::set<std::size_t>& known,
                                std::size_t count);

/// For points that were drawn of a larger space: adds what differs in one parameter from the
/// fastest of `history` and is valid, so that a search can climb. `grown` has the points around
/// which that is done.
void grow(Points& points, const std::vector<Observation>& history, std::set<std::size_t>& grown,
          const std::function<bool(std::span<const int> point)>& is_valid);

/// Moves a winner of another problem to this problem and keeps its occupancy. `unlike` says how far
/// the occupancy of a point is from the winner's; 0 is alike. The result is the winner itself if
/// the winner is valid here and a change of one parameter makes it little more alike. Otherwise the
/// result is the most alike point that one change makes, or two changes where one is not valid.
/// Ties go to the smallest steps. Empty when no such point is valid.
std::optional<std::size_t> adapted(const Points& points, std::span<const int> winner,
                                   const std::function<double(std::size_t index)>& unlike);

}  // namespace assay
