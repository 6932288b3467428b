#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "messages/requests.h"
#include "spec/vocabulary.h"
#include "support/support_kernels.h"

namespace assay {

/// Enqueues work on the timer's stream without waiting for it.
using Work = std::function<void()>;

/// What a sample times, and what belongs to it outside of the timed region. All but the launch may
/// be empty.
struct TimedWork {
  Work launch;
  Work before = {};  // enqueued ahead of it: under all protocols but `hot`, ahead of the flush, too
  Work after = {};   // run when the sample has been taken; may throw a Failure
  bool prepares = false;  // `before` has launches of a candidate's own
  // Launches back to back are not timed one by one. They are to draw the power of the work.
  std::function<void(bool surely_checked)> before_load = {};  // enqueued ahead of the first
  Work between = {};                                          // enqueued ahead of each
  Work after_load = {};  // run behind the last; may throw a Failure
};

/// One timed run of the work.
struct Sample {
  double time_ns = 0;
  double clock_mhz = 0;  // the SM clock during it; 0 when it is not known
};

/// Takes times: two events around the work, on a stream that a spin kernel holds until everything
/// is enqueued. Outside the events, two stamps record the SM's clock and the time.
///
/// The work must have run once before. Otherwise a kernel may be loaded while the stream is held.
/// Loading waits for the device, the device waits for the host, and neither goes on.
class Timer {
 public:
  /// `l2_bytes` 0: there is no cache to flush. Throws CudaError when there is no room for the flush
  /// buffer.
  Timer(const SupportKernels& support, std::int64_t l2_bytes);

  /// Enqueues the read that evicts L2.
  void flush() const;
  /// Enqueues a memset of the same buffer, as other tools flush. It leaves lines in L2 that must be
  /// written back before the next kernel's reads. It is here only to show what that costs.
  void flush_by_memset() const;

  /// Brings the GPU into the state in which samples of the protocol are taken. Under `sustained` it
  /// runs the work until samples of it repeat, or for a moment if the GPU has settled under other
  /// work just now. False when they still do not after three seconds. Throws like sample().
  bool settle(const TimedWork& work, Preparation preparation);
  /// Takes one sample. Waits. Throws CudaError, and Failure when the launches wait for the device
  /// or cannot be captured in a graph; also what `work.after` throws.
  Sample sample(const TimedWork& work, Preparation preparation);
  /// Takes one sample of the work, with only `before` ahead of it.
  Sample sample_after(const Work& before, const Work& work);
  /// Leaves the GPU idle after a sample of `time_ns`. Otherwise the next sample would start with
  /// the heat and the lowered clock of this one. `share` of the whole rest is enough where less
  /// precision is asked for.
  static void rest(double time_ns, double share = 1);
  /// The SM clock of short work, after a moment of load that wakes an idle GPU; 0 when not known.
  double boost_clock_mhz();
  /// The median of `samples` cold samples, with a rest after each. One more before them is thrown
  /// away.
  double quick_median_ns(const TimedWork& work, int samples);

 private:
  class Release;
  struct Mailbox;

  Mailbox& mailbox() const;
  CUdeviceptr in_mailbox(std::size_t offset) const;
  void load(const TimedWork& work, double seconds) const;
  void prepare(const TimedWork& work, Preparation preparation) const;
  void forget_persisting() const;
  void enqueue_timed(const Work& work, unsigned event_flags) const;
  void run_held(const Work& work);
  void run_graph(const TimedWork& work) const;
  void forget_stamps() const;
  Sample read_sample() const;

  const Driver* driver_;
  CUstream stream_;
  const SupportKernels* support_;
  DeviceMemory flush_buffer_;
  std::size_t flush_bytes_;
  PinnedMemory mailbox_memory_;
  CUdeviceptr mailbox_on_device_;
  DeviceMemory stamps_;  // before and after
  Event begin_;
  Event end_;
  std::uint32_t ticket_ = 0;
  std::chrono::steady_clock::time_point settled_at_;  // or when the last sample after that ended
};

}  // namespace assay
