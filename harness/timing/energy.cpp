#include "timing/energy.h"

#include <chrono>

#include "base/elapsed.h"

namespace assay {
namespace {

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
  Meter(const Driver& driver, CUstream stream, const Nvml& nvml, const TimedWork& work)
      : driver_(&driver), stream_(stream), nvml_(&nvml), work_(&work) {
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
    driver_->check(driver_->cuStreamSynchronize(stream_), "cuStreamSynchronize");
    launches_ += launches;
  }

  const Driver* driver_;
  CUstream stream_;
  const Nvml* nvml_;
  const TimedWork* work_;
  int chunk_ = 1;
  double launches_ = 0;
};

}  // namespace

std::optional<double> joules_per_launch(const Driver& driver, CUstream stream, const Nvml& nvml,
                                        const TimedWork& work, double seconds) {
  if (work.before) work.before();
  if (work.before_load) work.before_load(true);
  Meter meter(driver, stream, nvml, work);
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
