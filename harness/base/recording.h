#pragma once

#include <string>
#include <vector>

#include "base/device_info.h"
#include "base/rank.h"

namespace assay {

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
