#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/cupti.h"
#include "cuda/handles.h"
#include "timing/timer.h"

namespace assay {

/// What counts hardware events of some work. A GPU has few counters, so the work is done again,
/// once for each pass that they need. What one pass can count is of the same run of the work: a
/// ratio of counters of two runs would be of neither.
class CounterSession {
 public:
  /// For CUPTI's metrics of these names, on a chip that CUPTI calls so ("GH100"). Those that the
  /// chip has not are left out. Throws Error when none is left.
  CounterSession(const Cupti& cupti, const std::string& chip, std::vector<std::string> metrics);
  ~CounterSession();
  CounterSession(const CounterSession&) = delete;
  CounterSession& operator=(const CounterSession&) = delete;

  /// CUPTI's name of a device's chip. Throws Error.
  static std::string chip_of(const Cupti& cupti, CUdevice device);

  /// Those that are counted.
  const std::vector<std::string>& metrics() const { return metrics_; }

  /// Of each group of metrics that is counted together, how many runs of the work it needs: more
  /// than one only for a single metric that needs them.
  std::vector<std::size_t> passes() const;

  /// The value of each metric for one `launch`, both of which wait for the GPU. `before` is done
  /// ahead of each pass and is not counted. Throws Error, and what the work throws.
  std::vector<double> count(CUcontext context, const Work& before, const Work& launch) const;

 private:
  class Host;
  class Profiler;
  class Range;

  /// Metrics that one pass counts, or one metric that needs several.
  struct Group {
    std::vector<std::string> metrics;
    std::unique_ptr<Host> host;
    std::vector<std::uint8_t> config = {};
    std::size_t num_passes = 0;
  };
  std::optional<Group> group_of(const std::string& chip, std::vector<std::string> metrics) const;
  std::vector<double> count(const Group& group, CUcontext context, const Work& before,
                            const Work& launch) const;

  const Cupti* cupti_;
  std::vector<std::string> metrics_;
  std::vector<Group> groups_;
};

}  // namespace assay
