#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "base/device_info.h"
#include "search/forest.h"
#include "search/refine.h"
#include "search/search.h"
#include "space/features.h"
#include "space/space.h"
#include "spec/kernel_spec.h"
#include "store/store.h"

namespace assay {

/// What a search tries first and now and then, by what the store knows of the kernel, of any
/// version and on any device: the fastest for the nearest problems, which begin with the problem
/// itself, and what a model of all that is known takes for fast.
class WarmStart {
 public:
  /// `points` are those of `space`. Keeps references to both.
  WarmStart(const Store& store, const KernelSpec& kernel, const Problem& problem,
            const DeviceInfo& device, const Space& space, const Points& points);

  /// The next to try, at most `count` and none of which is in `history`; nothing when the search
  /// may go on alone. The model learns from `history`, too.
  std::vector<std::size_t> next(const std::vector<Observation>& history, std::size_t count);

 private:
  void adapt(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device,
             const Config& winner);
  void learn(Features& features, const Config& config, double fraction);
  void keep_some();
  Forest trained(const std::vector<Observation>& history);
  std::vector<float> row_of(std::size_t index);
  std::vector<std::size_t> among_all(const std::vector<Observation>& history, const Hints& hints,
                                     const std::set<std::size_t>& known, std::size_t count);

  const Space& space_;
  const Points& points_;
  Features features_;
  std::vector<std::vector<double>> sizes_;  // by parameter and value; 0: not a size
  std::vector<std::size_t> winners_;
  std::set<std::size_t> familiar_;       // points that were measured for any problem
  std::vector<float> rows_, fractions_;  // what is known of other problems, as features
  std::optional<Forest> of_others_;      // learned from that, where it is enough
};

}  // namespace assay
