#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/device_info.h"
#include "base/rank.h"

namespace assay {

/// What comes before the reason in the provenance of a replay whose kernel has changed since.
inline constexpr std::string_view kStale = ", stale: ";

/// Measured trials of one device. results/recorded/ holds them as open text files; a replay answers
/// from them, and `import` reads them.
struct Recording {
  std::string sweep;  // name of the sweep
  DeviceInfo device;
  std::string recorded_at;  // UTC date of the newest trial
  std::vector<TrialRecord> trials;
  std::vector<BaselineRecord> baselines;
  std::vector<RankRecord> ranks;
};

}  // namespace assay
