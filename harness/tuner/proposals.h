#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "search/search.h"
#include "space/features.h"
#include "space/space.h"
#include "tuner/sweep_run.h"
#include "tuner/warm_start.h"

namespace assay {

/// The configurations of one kernel for one problem, each a point by its number, in the order in
/// which the sweep's search proposes them, and what was seen of those that were begun.
class Proposals {
 public:
  Proposals(SweepRun& run, const KernelSpec& kernel, const Problem& problem);

  /// Whether the search goes by what was seen.
  bool learns() const { return assay::learns(run_.sweep.search, points_.size()); }
  /// From now on proposes first what the store knows to be fast.
  void start_warm();

  /// How many points the budget allows.
  std::size_t num_to_try() const;
  /// How many of them are not begun. Earlier runs may have begun more than this one's budget.
  std::size_t num_left() const;

  /// The next points, at most `count`; none when the space or the budget is used up.
  std::vector<std::size_t> next(std::size_t count);
  /// Proposes a point again, ahead of anything new.
  void try_again(std::size_t index) { to_try_again_.push_back(index); }

  Config config(std::size_t index) const { return space_.config(points_[index]); }
  /// The point of a configuration; nothing where the space has none such.
  std::optional<std::size_t> index_of(const Config& config);

  /// Notes that a point is under way. Returns its place in the history.
  std::size_t begin(std::size_t index);
  /// What is known of the point at that place.
  Observation& seen(std::size_t place) { return history_[place]; }

  /// Whether what is left is not worth it by the budget's `until`. Asked at every tenth more
  /// results: the answer costs tens of milliseconds.
  bool has_little_to_gain();
  /// Adds to the report what is still to gain, if the budget has `until`.
  void report_gain_left();

 private:
  SweepRun& run_;
  const KernelSpec& kernel_;
  const Problem& problem_;
  const Space space_;
  Features features_;
  Points points_;
  bool is_drawn_ = false;                  // the points are not all of the space
  std::set<std::size_t> grown_;            // points whose neighbours are among the points
  std::vector<std::size_t> to_try_again_;  // what an earlier run has no answer for
  std::vector<Observation> history_;
  std::optional<WarmStart> warm_start_;
  std::size_t next_estimate_ = 0;  // of what is to gain: at so many tried
};

}  // namespace assay
