#pragma once

#include <string>
#include <vector>

#include "base/rank.h"
#include "messages/requests.h"
#include "spec/kernel_spec.h"

namespace assay {

/// A correct configuration, as the screening timed it.
struct Candidate {
  const KernelSpec* kernel = nullptr;
  Config config;
  double median_ns = 0;
  bool censored = false;
  CompileReport compile;
  double roofline_ns = 0;    // as in Timing
  double ci_low_ns = 0;      // likewise: what a censored one takes at least
  std::string same_as = {};  // as in Outcome
};

/// Keeps the configurations that may still prove best, fastest first, and by text where medians are
/// equal. These are the `top` fastest, and up to four times as many if they are within 6 % of the
/// fastest, because the screening times each at another moment.
///
/// A configuration that was raced takes part only if the winner would otherwise be alone.
void keep_best(std::vector<Candidate>& correct, int top);

/// Completes `asked` with the entries, the noise floor and the number of rounds of the re-rank of
/// `best`. There are no entries when nothing was timed. `requests` are those of `best`, in its
/// order.
///
/// The objective becomes time if the energy of a configuration that may win was not measured.
RankRecord verdict_of(RankRecord asked, const RerankResult& result,
                      const std::vector<Candidate>& best,
                      const std::vector<TrialRequest>& requests);

}  // namespace assay
