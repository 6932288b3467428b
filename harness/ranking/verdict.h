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
  double roofline_ns = 0;     // as in Timing
  double ci_low_ns = 0;       // likewise: what a censored one takes at least
  std::string same_as = {};   // as in Outcome
  NamedFigures figures = {};  // that the objective reads, beside time and energy
};

/// The cost by one part of an objective (see ranking.h), with all configurations taken to draw the
/// same power. The time is the median, or what one that was given up takes at least. Infinite where
/// there is no answer. `faster_ratio`: if it took so much less time.
double screened_cost(const Candidate& candidate, const std::string& part, double faster_ratio = 1);

/// Keeps the configurations that may still prove best, fastest first, and by text where medians are
/// equal. These are the `top` fastest, and up to four times as many if they are within 6 % of the
/// fastest, because the screening times each at another moment.
///
/// A configuration that was raced takes part only if the winner would otherwise be alone.
///
/// By a metric, or several objectives, these are the `top` best by the first of them, and up to
/// four times as many if no other one would dominate them at a time that is 6 % less. What was
/// raced is judged by the time that it takes at least.
void keep_best(std::vector<Candidate>& correct, int top, const Objective& objective = {});

/// Completes `asked` with the entries, the noise floor and the number of rounds of the re-rank of
/// `best`. There are no entries when nothing was timed. `requests` are those of `best`, in its
/// order.
///
/// The objective is what is left without energy if that of a configuration that may win was not
/// measured.
RankRecord verdict_of(RankRecord asked, const RerankResult& result,
                      const std::vector<Candidate>& best,
                      const std::vector<TrialRequest>& requests);

}  // namespace assay
