#include "worker/worker_state.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "timing/measure.h"

namespace assay {

WorkerState::WorkerState(const Driver& cuda, CUstream work_stream, const DeviceInfo& device_info,
                         const std::string& support_cubin,
                         const std::optional<Ceilings>& known_ceilings)
    : driver(cuda),
      stream(work_stream),
      info(device_info),
      support(cuda, work_stream, support_cubin, device_info.sm_count),
      timer(support, cuda.is_emulated() ? 0 : device_info.l2_bytes),
      engine(support),
      inputs(support),
      references(engine),
      checker(support),
      arena(cuda),
      ceilings(known_ceilings),
      nvml(Nvml::find(device_info.uuid)) {}

void WorkerState::synchronise() const { driver.cuStreamSynchronize(stream); }

double WorkerState::event_floor_ns() {
  if (known_event_floor_ns == 0) {
    known_event_floor_ns = timer.quick_median_ns({[&] { support.empty(); }}, 9);
  }
  return known_event_floor_ns;
}

Timing WorkerState::measure(const TimedWork& work, const MeasureSpec& spec,
                            std::optional<double> best_ns) {
  Timing timing = assay::measure(timer, work, spec, best_ns);
  if (nvml) timing.state = nvml->state();
  return timing;
}

Outcome WorkerState::guarded(const std::function<Outcome()>& trial) {
  Outcome outcome;
  try {
    outcome = trial();
  } catch (const Failure& failure) {
    outcome = failure.outcome();
  } catch (const CudaError& error) {
    outcome = runtime_outcome(error);
    context_lost = context_lost || is_sticky(error.code());
  }
  if (outcome.kind == "oracle") {
    // A reference of the user's own may have written where it should not.
    inputs.clear();
    references.clear();
  }
  // What a capture that failed was to do to the references, it did not do.
  if (outcome.kind == "graph") references.clear();
  // Wait for what a failed trial left on the stream. It must not run into the next trial, and a
  // fault in it belongs to this one.
  const CUresult result = driver.cuCtxSynchronize.result();
  if (result != CUDA_SUCCESS) {
    context_lost = true;
    if (outcome.status != Status::runtime) {
      try {
        driver.fail(result, "cuCtxSynchronize after the trial");
      } catch (const CudaError& error) {
        outcome = runtime_outcome(error);
      }
    }
  }
  return outcome;
}

void WorkerState::enter_problem(const Problem& next) {
  std::string text = to_text(next);
  if (text == problem) return;
  release_memory();
  problem = std::move(text);
}

void WorkerState::release_memory() {
  inputs.clear();
  references.clear();
  arena.release();
}

std::uint64_t Secret::operator()() {
  if (num_left_ == 0) {
    if (getentropy(drawn_.data(), sizeof drawn_) != 0) {
      throw Error("the operating system gives no random numbers: getentropy: {}",
                  std::strerror(errno));
    }
    num_left_ = drawn_.size();
  }
  return std::exchange(drawn_[--num_left_], 0);
}

}  // namespace assay
