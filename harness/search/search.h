#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "search/points.h"
#include "spec/sweep_spec.h"

namespace assay {

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

}  // namespace assay
