#include "timing/measure.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/elapsed.h"

namespace assay {
namespace {

// A sample is *throttled* if its clock is this much below the highest of its trial: heat, a power
// brake or a neighbour held it down. It is taken again after a pause. The pause doubles each time,
// and a trial retakes at most so many samples.
constexpr double kThrottledRatio = 0.93;
constexpr int kMostRetakes = 4;
constexpr double kFirstPauseNs = 2e6;

// Under `sustained` the clock swings over tens of milliseconds. A few samples that follow each
// other within one swing agree with each other and not with the next few: they decided that one
// configuration of a 4096^3 product took 193 us, 207 us when it was measured again (H200).
constexpr double kLeastSustainedSeconds = 0.15;

void summarise(Timing& timing) {
  const Interval interval = median_or_range(timing.samples_ns);
  timing.median_ns = interval.value;
  timing.ci_low_ns = interval.low;
  timing.ci_high_ns = interval.high;
  std::vector<double> known = timing.clocks_mhz;
  std::erase(known, 0);
  if (!known.empty()) timing.clock_mhz = median(known);
}

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

using Clock = std::chrono::steady_clock;

// How long to launch between two looks at the counter. Shorter than the time between its steps,
// longer than a look.
constexpr double kChunkSeconds = 0.002;
// If the counter does not move for so long, there is none.
constexpr double kPatienceSeconds = 1;

/// What the counter said when it moved, and how many launches had finished by then.
struct Tick {
  double energy_j = 0;
  double launches = 0;
};

/// Launches work until the counter moves.
class Meter {
 public:
  Meter(const SupportKernels& support, const Nvml& nvml, const TimedWork& work)
      : support_(&support), nvml_(&nvml), work_(&work) {
    const auto begin = Clock::now();
    run(1);
    chunk_ = static_cast<int>(kChunkSeconds / seconds_since(begin)) + 1;
  }

  std::optional<Tick> next_tick() {
    const std::optional<double> before = nvml_->energy_j();
    const auto begin = Clock::now();
    while (seconds_since(begin) < kPatienceSeconds) {
      run(chunk_);
      const std::optional<double> now = nvml_->energy_j();
      if (before && now && *now > *before) return Tick{*now, launches_};
    }
    return std::nullopt;
  }

 private:
  void run(int launches) {
    for (int i = 0; i < launches; ++i) {
      if (work_->between) work_->between();
      work_->launch();
    }
    support_->synchronise();
    launches_ += launches;
  }

  const SupportKernels* support_;
  const Nvml* nvml_;
  const TimedWork* work_;
  int chunk_ = 1;
  double launches_ = 0;
};

}  // namespace

Timing measure(Timer& timer, const TimedWork& work, const MeasureSpec& spec,
               std::optional<double> best_ns) {
  const Preparation preparation = row_of(kProtocols, "protocol", spec.protocol).id;
  const StopRule rule(spec, best_ns);
  const bool settled = timer.settle(work, preparation);
  const auto begin = std::chrono::steady_clock::now();
  Timing timing;
  double highest_mhz = 0;
  double pause_ns = kFirstPauseNs;
  std::optional<StopReason> stop;
  while (!stop) {
    const Sample taken = timer.sample(work, preparation);
    highest_mhz = std::max(highest_mhz, taken.clock_mhz);
    // Under `sustained` a low clock is what is to be measured.
    const bool throttled = preparation != Preparation::sustained && taken.clock_mhz > 0 &&
                           taken.clock_mhz < kThrottledRatio * highest_mhz;
    if (throttled && timing.num_throttled++ < kMostRetakes) {
      std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(pause_ns));
      pause_ns *= 2;
      continue;
    }
    timing.samples_ns.push_back(taken.time_ns);
    timing.clocks_mhz.push_back(taken.clock_mhz);
    const double elapsed_s = seconds_since(begin);
    const bool may_swing =
        preparation == Preparation::sustained &&
        elapsed_s < std::min(kLeastSustainedSeconds, spec.max_seconds_per_config);
    if (!may_swing) stop = rule.decide(timing.samples_ns, elapsed_s);
    const bool tires = preparation != Preparation::sustained && taken.time_ns >= kLongWorkNs;
    if (!stop && tires) Timer::rest(taken.time_ns);
  }
  timing.time_limit_s = spec.max_seconds_per_config;
  timing.stop = settled || *stop == StopReason::raced ? *stop : StopReason::unsettled;
  summarise(timing);
  return timing;
}

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

std::optional<double> joules_per_launch(const SupportKernels& support, const Nvml& nvml,
                                        const TimedWork& work, double seconds) {
  if (work.before) work.before();
  if (work.before_load) work.before_load(true);
  Meter meter(support, nvml, work);
  // Measure from one step of the counter to another, so that its steps do not blur the result.
  const std::optional<Tick> first = meter.next_tick();
  if (!first) return std::nullopt;
  std::optional<Tick> last;
  for (const auto begin = Clock::now(); !last || seconds_since(begin) < seconds;) {
    last = meter.next_tick();
    if (!last) return std::nullopt;
  }
  if (work.after_load) work.after_load();
  return (last->energy_j - first->energy_j) / (last->launches - first->launches);
}

}  // namespace assay
