#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "search/points.h"

namespace assay {

/// What becomes of `winner`, which was fast elsewhere, so that it is here what it was there:
/// `unlike` says how far a point is from that, and 0 is alike. It is the winner itself, if it is
/// valid and a change of one parameter makes it little more alike. Else it is the most alike of
/// those that one change makes of it, or two where it takes two to be valid. Of several that are as
/// alike, the one with the smallest steps. Nothing when none is valid.
std::optional<std::size_t> adapted(const Points& points, std::span<const int> winner,
                                   const std::function<double(std::size_t index)>& unlike);

}  // namespace assay
