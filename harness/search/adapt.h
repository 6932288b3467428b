#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "search/points.h"

namespace assay {

/// Moves a winner of another problem to this problem and keeps its occupancy. `unlike` says how far
/// the occupancy of a point is from the winner's; 0 is alike. The result is the winner itself if
/// the winner is valid here and a change of one parameter makes it little more alike. Otherwise the
/// result is the most alike point that one change makes, or two changes where one is not valid.
/// Ties go to the smallest steps. Empty when no such point is valid.
std::optional<std::size_t> adapted(const Points& points, std::span<const int> winner,
                                   const std::function<double(std::size_t index)>& unlike);

}  // namespace assay
