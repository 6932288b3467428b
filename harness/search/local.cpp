// Iterated local search. It climbs from the best of a random sample: a random neighbour that is
// faster becomes the place to climb from. On a summit it jumps from the best so far, in a few
// parameters, and now and then it starts again from a random point.
//
// The search is run from its start at every call. What is known answers it, so it walks the same
// way again, up to where it asks for the first times that nobody knows: these are the proposals. It
// goes on as if they were slow, which most are, until there are enough of them.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/draw.h"
#include "search/strategies.h"

namespace assay {
namespace {

constexpr int kJumpParams = 3;
constexpr double kRestartRatio = 0.1;
// Climbs that ask for nothing new: the rest is drawn.
constexpr int kMaxIdleClimbs = 100;

void shuffle(std::vector<std::size_t>& list, Random& random) {
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[below(random, i)]);
}

/// Climbs to a summit.
std::size_t climb(std::size_t at, Trail& trail, Random& random) {
  for (;;) {
    std::vector<std::size_t> around = trail.points.neighbours(at);
    shuffle(around, random);
    const std::size_t from = at;
    for (const std::size_t next : around) {
      trail.propose(next);
      if (trail.full()) return at;
      if (trail.time_ns(next) < trail.time_ns(at)) {
        at = next;
        break;
      }
    }
    if (at == from) return at;
  }
}

}  // namespace

void propose_local(const SearchSpec& search, Trail& trail) {
  Random random(search.seed);
  const std::vector<std::size_t> first = trail.start(search);
  if (first.empty()) return;
  std::size_t best = first.front();
  const auto keep_best = [&](std::size_t index) {
    if (trail.time_ns(index) < trail.time_ns(best)) best = index;
  };
  for (const std::size_t index : first) keep_best(index);
  std::size_t start = best;
  for (int idle = 0; idle < kMaxIdleClimbs && !trail.full(); ++idle) {
    const std::size_t before = trail.num_proposed();
    keep_best(climb(start, trail, random));
    if (trail.num_proposed() > before) idle = 0;
    start = best;
    if (uniform(random) < kRestartRatio) {
      start = below(random, trail.points.size());
    } else {
      for (int i = 0; i < kJumpParams; ++i) {
        const std::vector<std::size_t> around = trail.points.neighbours(start);
        if (!around.empty()) start = around[below(random, around.size())];
      }
    }
    trail.propose(start);
  }
}

}  // namespace assay
