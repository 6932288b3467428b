#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <vector>

#include "search/points.h"
#include "search/search.h"

namespace assay {

/// For points that were drawn of a larger space: adds what differs in one parameter from the
/// fastest of `history` and is valid, so that a search can climb. `grown` has the points around
/// which that is done.
void grow(Points& points, const std::vector<Observation>& history, std::set<std::size_t>& grown,
          const std::function<bool(std::span<const int> point)>& is_valid);

}  // namespace assay
