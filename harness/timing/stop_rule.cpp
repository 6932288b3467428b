#include "timing/stop_rule.h"

#include <algorithm>

namespace assay {
namespace {

// An order-statistic 95 % interval exists from 6 samples on. One more sample makes the interval
// robust to one outlier.
constexpr std::size_t kLeastForInterval = 6;
constexpr std::size_t kMinSamples = 7;
// Of work of a millisecond or more, five samples are enough that all lie within the precision asked
// for. The median lies between the smallest and the largest of five with 94 %. On an H200, medians
// of five were off by 0.3 % at most where that held.
constexpr std::size_t kMinSamplesOfLong = 5;
constexpr std::size_t kMaxSamples = 1000;
// Beyond this many samples, the interval is computed only after every eighth: to sort a thousand
// numbers takes longer than a short kernel.
constexpr std::size_t kFrequentLooks = 64;

// Racing. Cold samples of one kernel spread by a few percent. So three samples that all lie a
// quarter above the best are no accident.
//
// An interval can decide at a smaller distance, but not a very small one: between two trials the
// clock drifts (1-2 % on an H200), and only the re-rank sees through that.
constexpr std::size_t kLeastForRace = 3;
constexpr double kRaceMarginOfSamples = 1.25;
// Samples of long work spread by less than a percent, and the clock drifts no more for it.
constexpr double kQuietWorkNs = 100e3;
constexpr double kRaceMarginOfLongSamples = 1.1;
constexpr double kRaceMarginOfInterval = 1.05;

// Four times as many samples halve the interval of ordinary noise. If the interval keeps four
// fifths of its width, more samples do not help: there are two modes, or the clock swings.
constexpr std::size_t kFirstNoiseLook = 64;
constexpr double kLeastImprovement = 0.8;

bool worth_a_look(std::size_t count) { return count <= kFrequentLooks || count % 8 == 0; }

double width(const Interval& interval) { return interval.high - interval.low; }

/// At 64, 128, 256, ... samples: whether the interval is hardly narrower than it was at a quarter
/// of them.
bool is_stably_noisy(std::span<const double> samples_ns, const Interval& interval) {
  const std::size_t count = samples_ns.size();
  if (count < kFirstNoiseLook || (count & (count - 1)) != 0) return false;
  return width(interval) > kLeastImprovement * width(median_interval(samples_ns.first(count / 4)));
}

}  // namespace

bool StopRule::is_raced(std::span<const double> samples_ns) const {
  if (!best_ns_ || samples_ns.size() < kLeastForRace) return false;
  const double margin = *best_ns_ < kQuietWorkNs ? kRaceMarginOfSamples : kRaceMarginOfLongSamples;
  if (*std::min_element(samples_ns.begin(), samples_ns.end()) > margin * *best_ns_) return true;
  return samples_ns.size() >= kLeastForInterval && worth_a_look(samples_ns.size()) &&
         median_interval(samples_ns).low > kRaceMarginOfInterval * *best_ns_;
}

bool StopRule::is_precise(const Interval& interval) const {
  return width(interval) / 2 <= spec_.precision_ratio * interval.value;
}

std::optional<StopReason> StopRule::decide(std::span<const double> samples_ns,
                                           double elapsed_s) const {
  const bool whole_time = spec_.precision_ratio == 0;
  if (!whole_time && is_raced(samples_ns)) return StopReason::raced;
  const bool is_long = !samples_ns.empty() && samples_ns.front() >= kLongWorkNs;
  if (!whole_time && is_long && samples_ns.size() >= kMinSamplesOfLong &&
      is_precise(median_or_range(samples_ns))) {
    return StopReason::precision;
  }
  if (samples_ns.size() < kMinSamples) {
    // A launch may be so slow that not even these samples fit. They may then take twice the time
    // limit.
    if (elapsed_s <= 2 * spec_.max_seconds_per_config) return std::nullopt;
    return StopReason::time_limit;
  }
  const bool out_of_time = elapsed_s > spec_.max_seconds_per_config;
  if (whole_time) return out_of_time ? std::optional(StopReason::time_limit) : std::nullopt;
  const bool full = samples_ns.size() >= kMaxSamples;
  if (!out_of_time && !full && !worth_a_look(samples_ns.size())) return std::nullopt;
  const Interval interval = median_interval(samples_ns);
  if (is_precise(interval)) return StopReason::precision;
  if (is_stably_noisy(samples_ns, interval)) return StopReason::noise;
  if (out_of_time) return StopReason::time_limit;
  if (full) return StopReason::sample_limit;
  return std::nullopt;
}

}  // namespace assay
