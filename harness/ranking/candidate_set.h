#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "base/rank.h"

namespace assay {

/// The trials among which a verdict chooses. A trial takes part when it is correct and timed; what
/// identifies it is its kernel's version, what it was compiled with, and its configuration.
class CandidateSet {
 public:
  /// Adds a trial if it is a candidate. All must be of one op, problem, protocol and device.
  void add(const TrialRecord& trial);
  void add(const KernelVersion& kernel, const Toolchain& toolchain, const Config& config);

  std::size_t size() const { return keys_.size(); }
  /// The same for the same candidates, in whatever order and however often they were added; empty
  /// for no candidates.
  std::string hash() const;

 private:
  std::unordered_set<std::string> keys_;
};

/// Fills in what a verdict of an older file does not say of itself, as far as `trials` tell, which
/// are those of its sweep and device: its candidates are the correct trials of its question that
/// were there when it was made, of each kernel's newest version then.
void complete_identity(RankRecord& rank, const std::vector<const TrialRecord*>& trials);

}  // namespace assay
