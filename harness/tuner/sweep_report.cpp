#include "tuner/sweep_report.h"

#include <algorithm>

namespace assay {

void RacingReport::add(const Timing& timing) {
  const std::size_t samples = timing.samples_ns.size();
  if (!timing.censored()) {
    ++finished;
    finished_samples += samples;
    return;
  }
  ++raced;
  raced_samples += samples;
  raced_medians_s += timing.median_ns * 1e-9;
  raced_sampled_s += timing.median_ns * 1e-9 * static_cast<double>(samples);
}

double RacingReport::saved_s() const {
  if (finished == 0) return 0;
  const double samples = static_cast<double>(finished_samples) / static_cast<double>(finished);
  return std::max(0.0, samples * raced_medians_s - raced_sampled_s);
}

void SweepReport::count(const TrialRecord& record) {
  const Outcome& outcome = record.outcome;
  const std::pair<Status, std::string> what{outcome.status, outcome.kind};
  ++counts[what];
  if (!is_failure(outcome.status)) return;
  const std::string reason = outcome.message.substr(0, outcome.message.find('\n'));
  examples.emplace(what, reason + ", of " + to_text(record.config));
}

void SweepReport::refuse(const TrialRecord& record) {
  const auto correct = counts.find({Status::correct, ""});
  if (correct != counts.end() && --correct->second == 0) counts.erase(correct);
  count(record);
}

void SweepReport::add(const TrialRecord& record, bool is_kept) {
  count(record);
  const Outcome& outcome = record.outcome;
  ++(is_kept ? kept : measured);
  if (is_kept) return;
  if (!outcome.same_as.empty()) {
    ++same_code;
  } else if (outcome.status == Status::correct && outcome.timing) {
    racing.add(*outcome.timing);
  }
}

void SweepReport::warn(const std::string& warning) {
  if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(warning);
}

}  // namespace assay
