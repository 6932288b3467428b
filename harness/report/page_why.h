#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/rank.h"
#include "report/page_data.h"

namespace assay {

/// A code whose instructions why_json() shows: that of a trial or, with a name, of that baseline of
/// its kernel.
struct ShownCode {
  const char* role;  // "winner", "runner-up" or "baseline"
  const TrialRow* row;
  std::string baseline;
};
std::vector<ShownCode> shown_codes(const RankRecord& rank,
                                   const std::vector<const TrialRow*>& trials);

/// What the winner's time is made of, and why it is faster than the runner-up and the baseline, as
/// `explain` says it, with the least time for its bytes and for its operations at the GPU's rates,
/// as far as they are known, and with the instructions of each if there is a `code_of`. Null where
/// the winner's trial is not there.
nlohmann::ordered_json why_json(const RankRecord& rank, const std::vector<const TrialRow*>& trials,
                                const FiguresOf& figures_of, const CodeOf& code_of);

}  // namespace assay
