#include "ranking/candidate_set.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/hash.h"

namespace assay {

void CandidateSet::add(const TrialRecord& trial) {
  if (trial.outcome.status != Status::correct || !trial.outcome.timing) return;
  add(trial.kernel, trial.toolchain, trial.config);
}

void CandidateSet::add(const KernelVersion& kernel, const Toolchain& toolchain,
                       const Config& config) {
  Hasher hasher;
  hasher.add(kernel.name).add(kernel.source_hash).add(kernel.contract_hash);
  hasher.add(toolchain.nvrtc).add(toolchain.arch).add(toolchain.options).add(toolchain.driver);
  keys_.insert(hasher.add(to_text(config)).hex());
}

std::string CandidateSet::hash() const {
  if (keys_.empty()) return "";
  std::vector<std::string_view> sorted(keys_.begin(), keys_.end());
  std::sort(sorted.begin(), sorted.end());
  Hasher hasher;
  for (const std::string_view key : sorted) hasher.add(key);
  return hasher.hex();
}

void complete_identity(RankRecord& rank, const std::vector<const TrialRecord*>& trials) {
  std::vector<const TrialRecord*> asked;
  std::map<std::string, const TrialRecord*> newest;  // by kernel
  for (const TrialRecord* trial : trials) {
    if (trial->kernel.op != rank.op || trial->problem != rank.problem ||
        trial->protocol.name != rank.protocol.name || trial->finished_at > rank.finished_at) {
      continue;
    }
    asked.push_back(trial);
    const TrialRecord*& seen = newest[trial->kernel.name];
    if (!seen || seen->finished_at <= trial->finished_at) seen = trial;
  }
  CandidateSet candidates;
  for (const TrialRecord* trial : asked) {
    const TrialRecord& current = *newest.at(trial->kernel.name);
    if (trial->kernel == current.kernel && trial->toolchain == current.toolchain) {
      candidates.add(*trial);
    }
  }
  rank.identity.candidates = candidates.hash();
  rank.identity.num_candidates = static_cast<std::int64_t>(candidates.size());
  rank.identity.objective = rank.objective;
  rank.kernels.clear();
  for (const auto& [name, trial] : newest) {
    rank.kernels.push_back(trial->kernel);
    rank.toolchain = trial->toolchain;
  }
}

}  // namespace assay
