#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "spec/sweep_spec.h"

namespace assay {

/// What is known of one tried point.
struct Observation {
  std::size_t index = 0;          // into the list of candidates
  std::optional<double> time_ns;  // nothing when it was not correct
};

/// The order in which to try `num_candidates` points: pure functions of their arguments, so that
/// the same seed gives the same order on any machine.
///
/// An exhaustive search goes through the points in the order of the space. With a budget, which may
/// end it early, it takes them in the order of a random search: a sample of the whole space, drawn
/// with the seed.
///
/// Proposes up to `count` candidates that are not in `history`, fewer when the space or the budget
/// (SearchSpec::budget_configs) is used up. `history` holds what was tried or proposed before, in
/// that order.
std::vector<std::size_t> propose(const SearchSpec& search, std::size_t num_candidates,
                                 const std::vector<Observation>& history, std::size_t count);

}  // namespace assay
