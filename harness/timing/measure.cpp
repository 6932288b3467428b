#include "timing/measure.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/elapsed.h"
#include "base/stats.h"
#include "timing/stop_rule.h"

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

}  // namespace

Timing measure(Timer& timer, const TimedWork& work, const MeasureSpec& spec,
               std::optional<double> best_ns) {
  const Preparation preparation = row_of(protocols(), "protocol", spec.protocol).id;
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

}  // namespace assay
