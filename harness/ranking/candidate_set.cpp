#include "ranking/candidate_set.h"

#include <algorithm>

#include "base/hash.h"

namespace assay {

void CandidateSet::add(const TrialRecord& trial) {
  if (trial.outcome.status != Status::correct || !trial.outcome.timing) return;
  add(trial.kernel, trial.toolchain, to_text(trial.config));
}

void CandidateSet::add(const KernelVersion& kernel, const Toolchain& toolchain,
                       std::string_view config) {
  Hasher hasher;
  hasher.add(kernel.name).add(kernel.source_hash).add(kernel.contract_hash);
  hasher.add(toolchain.nvrtc).add(toolchain.arch).add(toolchain.options).add(toolchain.driver);
  keys_.insert(hasher.add(config).hex());
}

std::string CandidateSet::hash() const {
  if (keys_.empty()) return "";
  std::vector<std::string_view> sorted(keys_.begin(), keys_.end());
  std::ranges::sort(sorted);
  Hasher hasher;
  for (const std::string_view key : sorted) hasher.add(key);
  return hasher.hex();
}

}  // namespace assay
