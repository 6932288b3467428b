#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "base/rank.h"

namespace assay {

/// The trials among which a verdict chooses. A trial takes part when it is correct and timed; what
/// identifies it is its kernel's version, what it was compiled with, and its configuration.
class CandidateSet {
 public:
  /// Adds a trial if it is a candidate. All must be of one op, problem, protocol and device.
  void add(const TrialRecord& trial);
  /// A candidate, whose configuration is this text.
  void add(const KernelVersion& kernel, const Toolchain& toolchain, std::string_view config);

  std::size_t size() const { return keys_.size(); }
  /// The same for the same candidates, in whatever order and however often they were added; empty
  /// for no candidates.
  std::string hash() const;

 private:
  std::unordered_set<std::string> keys_;
};

}  // namespace assay
