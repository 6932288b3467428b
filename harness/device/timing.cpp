#include "device/timing.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/stats.h"
#include "device/failure.h"

namespace assay {
namespace {

// An order-statistic 95 % interval exists from 6 samples on; one more makes it robust to one
// outlier in the median.
constexpr std::size_t kMinSamples = 7;
constexpr std::size_t kMaxSamples = 1000;
// Past this many samples the interval is looked at after every eighth: sorting a thousand numbers
// takes longer than a short kernel.
constexpr std::size_t kFrequentLooks = 64;

constexpr std::size_t kLeastFlushBytes = std::size_t{128} << 20;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool worth_a_look(std::size_t count) { return count <= kFrequentLooks || count % 8 == 0; }

}  // namespace

/// Publishes the ticket when it goes out of scope, so that the stream is released also when
/// enqueuing the work throws: otherwise the next wait would last until the hold gives up.
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

Timer::Timer(const Driver& driver, CUstream stream, const SupportKernels& support,
             std::int64_t l2_bytes)
    : driver_(&driver),
      stream_(stream),
      support_(&support),
      flush_bytes_(std::max(kLeastFlushBytes, 2 * static_cast<std::size_t>(l2_bytes)) / 16 * 16),
      flags_(allocate_pinned(driver, 2 * sizeof(std::uint32_t))),
      flags_on_device_(device_pointer(driver, flags_)),
      begin_(make_event(driver)),
      end_(make_event(driver)) {
  auto* flags = static_cast<std::uint32_t*>(flags_.get());
  flags[0] = flags[1] = 0;
  flush_buffer_ = allocate(driver, flush_bytes_);
  support.fill(Generator::normal, DType::f32, flush_buffer_.get(),
               static_cast<std::int64_t>(flush_bytes_ / 4), 1, 0, 0);
  // Loads the kernels used around a sample, before any stream is held.
  flush();
  support.empty();
  support.hold(flags_on_device_, 0, flags_on_device_ + sizeof(std::uint32_t));
  driver.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
}

void Timer::flush() const { support_->read(flush_buffer_.get(), flush_bytes_); }

double Timer::sample_ns(const Work& before, const Work& work) {
  auto* flags = static_cast<std::uint32_t*>(flags_.get());
  before();
  {
    const Release release(&flags[0], ++ticket_);
    support_->hold(flags_on_device_, ticket_, flags_on_device_ + sizeof(std::uint32_t));
    driver_->check(driver_->cuEventRecord(begin_.get(), stream_), "cuEventRecord");
    work();
    driver_->check(driver_->cuEventRecord(end_.get(), stream_), "cuEventRecord");
  }
  driver_->check(driver_->cuStreamSynchronize(stream_), "cuStreamSynchronize");
  if (std::atomic_ref(flags[1]).exchange(0) != 0) {
    throw Failure(Status::runtime, "hold",
                  "the stream was held for a second without being released: enqueuing the launches "
                  "waited for the device");
  }
  float milliseconds = 0;
  driver_->check(driver_->event_elapsed_time(&milliseconds, begin_.get(), end_.get()),
                 "cuEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e6;
}

double Timer::cold_sample_ns(const Work& work) {
  return sample_ns([this] { flush(); }, work);
}

double Timer::quick_median_ns(const Work& work, int samples) {
  std::vector<double> times_ns;
  cold_sample_ns(work);
  for (int i = 0; i < samples; ++i) times_ns.push_back(cold_sample_ns(work));
  return median(times_ns);
}

Timing Timer::measure(const Work& work, const MeasureSpec& spec) {
  const auto begin = Clock::now();
  cold_sample_ns(work);  // the first after a check finds the clock of a GPU that was busy
  Timing timing;
  std::vector<double>& samples = timing.samples_ns;
  for (;;) {
    samples.push_back(cold_sample_ns(work));
    const double elapsed_s = seconds_since(begin);
    if (samples.size() < kMinSamples) {
      // A launch so slow that not even these fit: twice the limit is given up to get them.
      if (elapsed_s <= 2 * spec.max_seconds_per_config) continue;
      const auto [low, high] = std::minmax_element(samples.begin(), samples.end());
      timing.median_ns = median(samples);
      timing.ci_low_ns = *low;  // the range: so few samples have no 95 % interval
      timing.ci_high_ns = *high;
      timing.stop = StopReason::time_limit;
      return timing;
    }
    const bool out_of_time = elapsed_s > spec.max_seconds_per_config;
    const bool full = samples.size() >= kMaxSamples;
    if (!out_of_time && !full && !worth_a_look(samples.size())) continue;
    const Interval interval = median_interval(samples);
    const bool precise =
        (interval.high - interval.low) / 2 <= spec.precision_ratio * interval.value;
    if (!precise && !out_of_time && !full) continue;
    timing.median_ns = interval.value;
    timing.ci_low_ns = interval.low;
    timing.ci_high_ns = interval.high;
    timing.stop = precise       ? StopReason::precision
                  : out_of_time ? StopReason::time_limit
                                : StopReason::sample_limit;
    return timing;
  }
}

}  // namespace assay
