#pragma once

#include <string>
#include <vector>

#include "base/rank.h"
#include "messages/requests.h"
#include "spec/kernel_spec.h"

namespace assay {

/// One correct configuration of the op at hand, as its screening timed it.
struct Candidate {
  const KernelSpec* kernel = nullptr;
  Config config;
  double median_ns = 0;
  bool censored = false;
  CompileReport compile;
  double roofline_ns = 0;  // as in Timing
};

/// Leaves those that may still prove best, fastest first, by text where medians are equal: the
/// `top` fastest, and up to four times as many while they are within 6 % of the fastest, because
/// the screening times each at another moment. What was raced out takes part only where the winner
/// would otherwise run alone.
void keep_best(std::vector<Candidate>& correct, int top);

/// `asked` with the entries, the noise floor and the number of rounds that the re-rank of `best`
/// gives; no entries when nothing was timed. `requests` are those of `best`, in its order. The
/// objective becomes time where the energy of one that may win was not measured.
RankRecord verdict_of(RankRecord asked, const RerankResult& result,
                      const std::vector<Candidate>& best,
                      const std::vector<TrialRequest>& requests);

}  // namespace assay
