#include "timing/timer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <new>
#include <thread>
#include <vector>

#include "base/elapsed.h"
#include "base/stats.h"
#include "launch/failure.h"

namespace assay {
namespace {

constexpr std::size_t kLeastFlushBytes = std::size_t{128} << 20;

// How long to load the GPU before each sample under `sustained`. Power management makes the clock
// swing over tens of milliseconds, so one long load does not average it out, but many short ones
// do. On an H200, a 4096^3 product and its A/A duplicate came out 1.9 % apart after 30 ms of load
// before each of 15 samples, and 0.1 % apart after 1 ms before each of 200. Clock and time were the
// same in both.
constexpr double kLoadSeconds = 0.001;
constexpr double kMostLaunchesPerWait = 64;
// A GPU settles within a second or two. It has settled when the medians of ten samples, before and
// after 0.25 s of load, differ by less than this ratio.
constexpr double kSettleLoadSeconds = 0.25;
constexpr int kSettledSamples = 10;
constexpr double kSettledRatio = 0.005;
// A GPU that was under load so short a time ago is as warm as it was. Its clock follows the power
// of new work within tens of milliseconds.
constexpr double kStaysSettledSeconds = 0.5;
constexpr double kSettleAgainSeconds = 0.05;
constexpr double kWakeSeconds = 0.02;

// The rest between cold samples that are to be compared: so many times the work, but no more than
// 3 ms, or than the work itself where that is longer. On an H200, a 4096^3 product back to back is
// 2-4 % slower than at rest, and the ratio of two such products spreads by 0.4 % from process to
// process. With 4 to 25 times of rest it is as fast, its clock is the same, and ratios agree to
// 0.1 %. So do those of a product of 2.4 ms after 1.6 to 10 ms of rest, though its own time after
// 1.6 ms is 0.6 % longer. A product of 9.3 ms needs 10 ms: after 4 ms, one sample in five was at a
// clock that was 3 to 9 % lower.
//
// Work that is shorter than the flush before it needs no rest: it draws too little power to lower
// the clock.
constexpr double kRestRatio = 5;
constexpr double kEnoughRestNs = 3e6;
constexpr double kNeedsRestNs = 50e3;

using Clock = std::chrono::steady_clock;

/// Rounds to a tenth of a nanosecond. Events count in fractions of a nanosecond that a float of
/// milliseconds cannot hold, and what is left of them below a tenth is noise.
double from_milliseconds(float milliseconds) {
  return std::round(static_cast<double>(milliseconds) * 1e7) / 10;
}

}  // namespace

/// Memory through which the host and the kernels around a sample talk.
struct Timer::Mailbox {
  std::uint32_t published = 0;  // the stream is held until this reaches the ticket
  std::uint32_t timed_out = 0;
  Stamp before;  // copied here after the sample: a write to the host just before the work could
                 // delay it
  Stamp after;
};

/// Publishes the ticket when it goes out of scope. So the stream is released even if enqueuing the
/// work throws. Otherwise the next wait would last until the hold gives up.
class Timer::Release {
 public:
  Release(std::uint32_t* published, std::uint32_t ticket)
      : published_(published), ticket_(ticket) {}
  ~Release() { std::atomic_ref(*published_).store(ticket_, std::memory_order_release); }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;

 private:
  std::uint32_t* published_;
  std::uint32_t ticket_;
};

Timer::Timer(const SupportKernels& support, std::int64_t l2_bytes)
    : driver_(&support.driver()),
      stream_(support.stream()),
      support_(&support),
      flush_bytes_(l2_bytes == 0
                       ? 16
                       : std::max(kLeastFlushBytes, 2 * static_cast<std::size_t>(l2_bytes)) / 16 *
                             16),
      mailbox_memory_(allocate_pinned(*driver_, sizeof(Mailbox))),
      mailbox_on_device_(device_pointer(*driver_, mailbox_memory_)),
      stamps_(allocate(*driver_, 2 * sizeof(Stamp))),
      begin_(make_event(*driver_)),
      end_(make_event(*driver_)) {
  new (mailbox_memory_.get()) Mailbox;
  flush_buffer_ = allocate(*driver_, flush_bytes_);
  support.fill(Generator::normal, DType::f32, flush_buffer_.get(),
               static_cast<std::int64_t>(flush_bytes_ / 4), 1, 0, 1);
  // Run the kernels around a sample once, so that they are loaded before any stream is held.
  flush();
  support.empty();
  support.stamp(stamps_.get());
  support.hold(in_mailbox(offsetof(Mailbox, published)), 0,
               in_mailbox(offsetof(Mailbox, timed_out)));
  support_->synchronise();
}

Timer::Mailbox& Timer::mailbox() const {
  return *std::launder(static_cast<Mailbox*>(mailbox_memory_.get()));
}

CUdeviceptr Timer::in_mailbox(std::size_t offset) const { return mailbox_on_device_ + offset; }

void Timer::flush() const { support_->read(flush_buffer_.get(), flush_bytes_); }

void Timer::flush_by_memset() const {
  driver_->cuMemsetD8Async(flush_buffer_.get(), 0, flush_bytes_, stream_);
}

/// Keeps the GPU busy with the work for so long. May return while the last launches still run.
void Timer::load(const TimedWork& work, double seconds) const {
  if (work.before_load) work.before_load(false);
  const auto launch = [&] {
    if (work.between) work.between();
    work.launch();
  };
  const auto begin = Clock::now();
  launch();
  support_->synchronise();
  const double launch_s = seconds_since(begin);
  for (;;) {
    const double launches = (seconds - seconds_since(begin)) / launch_s;
    for (int i = 0; i < std::clamp(launches, 1.0, kMostLaunchesPerWait); ++i) launch();
    if (launches <= kMostLaunchesPerWait) break;
    support_->synchronise();
  }
  if (work.after_load) work.after_load();
}

void Timer::prepare(const TimedWork& work, Preparation preparation) const {
  if (preparation == Preparation::hot) work.launch();
  if (preparation == Preparation::sustained) load(work, kLoadSeconds);
  if (work.before) work.before();
  if (preparation == Preparation::hot) return;
  if (work.prepares && preparation != Preparation::graph) {
    support_->synchronise();
    forget_persisting();
  }
  flush();
  // What `before` wrote lies dirty in L2, and one flush leaves some of it there. With inputs drawn
  // anew, a product of 16x4096x4096 took 12.3 us after one flush and 12.1 us after two, which it
  // takes after one when nothing was written (H200).
  if (work.before) flush();
}

/// What a kernel read with the policy evict_last outlives the flush, unless the lines are made
/// ordinary ones again: 32 MiB that had been prefetched so were read in 12.8 us instead of 13.6
/// (H200). It acts on what has run, and at once.
void Timer::forget_persisting() const {
  const CUresult result = driver_->cuCtxResetPersistingL2Cache.result();
  if (result != CUDA_ERROR_NOT_SUPPORTED) {
    driver_->check(result, "cuCtxResetPersistingL2Cache");
  }
}

/// Enqueues a stamp, an event, the work, an event and a stamp.
void Timer::enqueue_timed(const Work& work, unsigned event_flags) const {
  support_->stamp(stamps_.get());
  driver_->cuEventRecordWithFlags(begin_.get(), stream_, event_flags);
  work();
  driver_->cuEventRecordWithFlags(end_.get(), stream_, event_flags);
  support_->stamp(stamps_.get() + sizeof(Stamp));
  static_assert(offsetof(Mailbox, after) == offsetof(Mailbox, before) + sizeof(Stamp));
  driver_->cuMemcpyDtoHAsync(&mailbox().before, stamps_.get(), 2 * sizeof(Stamp), stream_);
}

void Timer::run_held(const Work& work) {
  const Release release(&mailbox().published, ++ticket_);
  support_->hold(in_mailbox(offsetof(Mailbox, published)), ticket_,
                 in_mailbox(offsetof(Mailbox, timed_out)));
  enqueue_timed(work, CU_EVENT_RECORD_DEFAULT);
}

/// Captures everything in a graph and launches it. If something cannot be captured, that is the
/// fault of the work.
void Timer::run_graph(const TimedWork& work) const {
  CUgraph captured = nullptr;
  driver_->cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  try {
    prepare(work, Preparation::graph);
    enqueue_timed(work.launch, CU_EVENT_RECORD_EXTERNAL);
    driver_->cuStreamEndCapture(stream_, &captured);
  } catch (const Error& error) {
    if (captured == nullptr)
      static_cast<void>(driver_->cuStreamEndCapture.result(stream_, &captured));
    const Graph dropped(*driver_, captured);
    throw Failure(Status::runtime, "graph", "its launches cannot be captured in a graph: {}",
                  error.what());
  }
  const Graph graph(*driver_, captured);
  CUgraphExec instance = nullptr;
  driver_->cuGraphInstantiate(&instance, graph.get(), 0);
  const GraphInstance executable(*driver_, instance);
  driver_->cuGraphLaunch(executable.get(), stream_);
  support_->synchronise();
}

Sample Timer::read_sample() const {
  Sample sample;
  float milliseconds = 0;
  driver_->check(driver_->event_elapsed_time(&milliseconds, begin_.get(), end_.get()),
                 "cuEventElapsedTime");
  sample.time_ns = from_milliseconds(milliseconds);
  const auto& [published, timed_out, before, after] = mailbox();
  // A stamp is missing if no block of its kernel ran on the SM that stamps.
  if (before.time_ns != 0 && after.time_ns > before.time_ns) {
    sample.clock_mhz = 1e3 * static_cast<double>(after.cycles - before.cycles) /
                       static_cast<double>(after.time_ns - before.time_ns);
  }
  return sample;
}

void Timer::forget_stamps() const {
  driver_->cuMemsetD8Async(stamps_.get(), 0, 2 * sizeof(Stamp), stream_);
}

Sample Timer::sample(const TimedWork& work, Preparation preparation) {
  Sample sample;
  if (preparation != Preparation::hot) forget_persisting();
  if (preparation == Preparation::graph) {
    forget_stamps();
    run_graph(work);
    sample = read_sample();
  } else {
    sample = sample_after([&] { prepare(work, preparation); }, work.launch);
  }
  if (preparation == Preparation::sustained && seconds_since(settled_at_) < kStaysSettledSeconds) {
    settled_at_ = Clock::now();
  }
  if (work.after) work.after();
  return sample;
}

Sample Timer::sample_after(const Work& before, const Work& work) {
  forget_stamps();
  before();
  run_held(work);
  support_->synchronise();
  if (std::atomic_ref(mailbox().timed_out).exchange(0) != 0) {
    throw Failure(Status::runtime, "hold",
                  "the stream was held for a second without being released: enqueuing the launches "
                  "waited for the device");
  }
  return read_sample();
}

bool Timer::settle(const TimedWork& work, Preparation preparation) {
  // Throw one sample away: after a check its clock is that of a busy GPU.
  sample(work, preparation);
  if (preparation != Preparation::sustained) return true;
  if (seconds_since(settled_at_) < kStaysSettledSeconds) {
    load(work, kSettleAgainSeconds);
    return true;
  }
  double older_ns = 0;
  for (const auto begin = Clock::now(); seconds_since(begin) < kLongestSettleSeconds;) {
    load(work, kSettleLoadSeconds);
    std::vector<double> times_ns;
    for (int i = 0; i < kSettledSamples; ++i) {
      times_ns.push_back(sample(work, preparation).time_ns);
    }
    const double newer_ns = median(times_ns);
    if (std::abs(newer_ns - older_ns) <= kSettledRatio * older_ns) {
      settled_at_ = Clock::now();
      return true;
    }
    older_ns = newer_ns;
  }
  return false;
}

void Timer::rest(double time_ns, double share) {
  if (time_ns <= kNeedsRestNs) return;
  const double rest_ns = share * std::min({kRestRatio * time_ns, std::max(kEnoughRestNs, time_ns),
                                           kLongestRestSeconds * 1e9});
  std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(rest_ns));
}

double Timer::boost_clock_mhz() {
  const TimedWork read = {[this] { flush(); }};
  load(read, kWakeSeconds);
  support_->synchronise();
  std::vector<double> clocks_mhz;
  for (int i = 0; i < kSettledSamples; ++i) {
    const double mhz = sample(read, Preparation::hot).clock_mhz;
    if (mhz > 0) clocks_mhz.push_back(mhz);
  }
  return clocks_mhz.empty() ? 0 : median(clocks_mhz);
}

double Timer::quick_median_ns(const TimedWork& work, int samples) {
  rest(sample(work, Preparation::cold).time_ns);
  std::vector<double> times_ns;
  for (int i = 0; i < samples; ++i) {
    times_ns.push_back(sample(work, Preparation::cold).time_ns);
    rest(times_ns.back());
  }
  return median(times_ns);
}

}  // namespace assay
