#include "worker/trial_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/counters.h"
#include "base/file.h"
#include "base/rank.h"
#include "base/stats.h"
#include "cuda/device_query.h"
#include "judge/ceilings.h"
#include "spec/vocabulary.h"
#include "timing/counter_session.h"
#include "worker/baseline.h"
#include "worker/prepared_trial.h"
#include "worker/rerank.h"
#include "worker/verify.h"

namespace assay {
namespace {

constexpr std::size_t kSelfTestBytes = std::size_t{32} << 20;  // fits the L2 of an A100 and above
constexpr int kSelfTestSamples = 21;
constexpr int kSelfTestRepeats = 5;
constexpr double kFloorRatio = 1.05;
// More rounds than a re-rank has: with 30 there was once a false alarm of 4 % on a quiet GPU.
constexpr int kSelfTestRounds = 200;

// Before the last check of a trial come so many launches, or as many as this time allows.
constexpr double kLaunchesBeforeCheck = 16, kLaunchesBeforeCheckNs = 0.5e6;

/// A remark for the reader of a correct configuration's time; empty for an ordinary one.
std::string remark(const Timing& timing, const MeasureSpec& measure, double event_floor_ns) {
  if (timing.median_ns <= kFloorRatio * event_floor_ns) {
    return fmt::format(
        "no slower than an empty kernel, which takes {:.2g} us between two events: too short to "
        "compare; give a launch more work",
        event_floor_ns * 1e-3);
  }
  switch (timing.stop) {
    case StopReason::unsettled:
      return "its time still moved after three seconds of load: the clock never settled, so the "
             "median holds for no steady state";
    case StopReason::time_limit:
      if (measure.precision_ratio == 0) return "";  // the sweep asked for this
      return fmt::format(
          "{} samples within the time limit, the interval of the median still wider than asked; "
          "raise max_seconds_per_config for more",
          timing.samples_ns.size());
    case StopReason::precision:
    case StopReason::noise:
    case StopReason::raced:
    case StopReason::sample_limit:
      break;
  }
  return "";
}

/// What the emulator, which knows no times, can do of a trial: load and check.
Outcome check_trial(const TrialRequest& request, PreparedTrial& trial) {
  Outcome outcome;
  if (trial.has_local_memory()) {  // which the launch that is checked finds as other inputs left it
    trial.ready(request.seed + 1);
    trial.enqueue();
  }
  outcome.validation = trial.check();
  // Two launches must agree. The second finds numbers where the first found poison.
  if (request.plan.deterministic) outcome.validation = trial.check_over_numbers(0);
  outcome.message = trial.reference_note();
  return outcome;
}

/// A whole trial: load, check, time, check again.
Outcome run_trial(WorkerState& worker, const TrialRequest& request) {
  worker.arena.reserve(arena_bytes(request.plan));
  PreparedTrial trial(worker, request);
  if (worker.driver.is_emulated()) return check_trial(request, trial);
  Outcome outcome;
  outcome.validation = trial.check();  // also loads what is loaded lazily
  if (request.plan.deterministic) trial.check_cold();
  outcome.timing = worker.measure(trial.timed(), request.measure, request.best_ns);
  outcome.prepared = trial.time_preparation();
  outcome.validation = trial.check_over_numbers(static_cast<int>(
      std::clamp(kLaunchesBeforeCheckNs / outcome.timing->median_ns, 1.0, kLaunchesBeforeCheck)));
  outcome.message = remark(*outcome.timing, request.measure, worker.event_floor_ns());
  if (!trial.reference_note().empty()) {
    outcome.message += (outcome.message.empty() ? "" : "; ") + trial.reference_note();
  }
  if (worker.ceilings) {
    const Preparation preparation = row_of(kProtocols, "protocol", request.measure.protocol).id;
    outcome.timing->roofline_ns =
        roofline_ns(request.plan, *worker.ceilings, preparation, outcome.timing->median_ns);
    auto reason =
        implausible(request.plan, outcome.timing->median_ns, *worker.ceilings, preparation);
    if (reason) {
      Failure failure(Status::correctness, "implausible", std::move(*reason));
      Outcome refused = failure.outcome();
      refused.validation = outcome.validation;
      throw Failure(std::move(refused));
    }
  }
  return outcome;
}

/// How far apart a re-rank puts two entries of the same code.
double noise_floor_ratio(WorkerState& worker, const Work& work) {
  std::vector<double> first_ns, second_ns;
  for (int round = 0; round < kSelfTestRounds; ++round) {
    const bool backwards = round % 2 != 0;
    for (const bool second : {backwards, !backwards}) {
      const double time_ns = worker.timer.sample({work}, Preparation::cold).time_ns;
      (second ? second_ns : first_ns).push_back(time_ns);
    }
  }
  NoiseFloor noise;
  noise.ratio = paired_ratio(second_ns, first_ns);
  return noise.margin_ratio();
}

SelfTest measure_self(WorkerState& worker) {
  const DeviceMemory data = allocate(worker.driver, kSelfTestBytes);
  worker.support.fill(Generator::normal, DType::f32, data.get(),
                      static_cast<std::int64_t>(kSelfTestBytes / 4), 1, 0, 1);
  worker.synchronise();
  const Work read = [&] { worker.support.read(data.get(), kSelfTestBytes); };
  const auto cold_ns = [&](const Work& work) {
    return worker.timer.quick_median_ns({work}, kSelfTestSamples);
  };

  SelfTest figures;
  figures.empty_event_ns = cold_ns([] {});
  figures.empty_kernel_ns = cold_ns([&] { worker.support.empty(); });
  std::vector<double> medians_ns;
  for (int i = 0; i < kSelfTestRepeats; ++i) medians_ns.push_back(cold_ns(read));
  figures.cold_read_ns = median(medians_ns);
  const auto [low, high] = std::minmax_element(medians_ns.begin(), medians_ns.end());
  figures.repeat_spread_ratio = (*high - *low) / figures.cold_read_ns;
  std::vector<double> hot_ns, dirty_ns, clocks_mhz;
  const Work dirty = [&] { worker.timer.flush_by_memset(); };
  for (int i = 0; i < kSelfTestSamples; ++i) {
    dirty_ns.push_back(worker.timer.sample_after(dirty, read).time_ns);
    const Sample sample = worker.timer.sample({read}, Preparation::hot);
    hot_ns.push_back(sample.time_ns);
    clocks_mhz.push_back(sample.clock_mhz);
  }
  figures.hot_read_ns = median(hot_ns);
  figures.dirty_read_ns = median(dirty_ns);
  figures.clock_mhz = median(clocks_mhz);
  figures.noise_floor_ratio = noise_floor_ratio(worker, read);
  if (worker.nvml) figures.health = worker.nvml->health();
  return figures;
}

}  // namespace

TrialRunner::TrialRunner(int index)
    : driver_(index == kEmulatorIndex ? Driver(Driver::Emulated()) : Driver()),
      context_(driver_, std::max(index, 0)),
      info_(query_device(driver_, context_.device())),
      stream_(make_stream(driver_)) {}

WorkerState& TrialRunner::ready() {
  if (!worker_) throw Error("the worker was not set up: TrialRunner::setup comes first");
  return *worker_;
}

template <typename Task>
auto TrialRunner::noting_loss(const Task& task) {
  WorkerState& worker = ready();
  try {
    return task(worker);
  } catch (const CudaError& error) {
    worker.context_lost = worker.context_lost || is_sticky(error.code());
    throw;
  }
}

void TrialRunner::setup(const std::filesystem::path& support_cubin,
                        const std::optional<Ceilings>& ceilings) {
  worker_.emplace(driver_, stream_.get(), info_, read_file(support_cubin), ceilings);
}

Ceilings TrialRunner::measure_ceilings() {
  return noting_loss([&](WorkerState& worker) {
    return assay::measure_ceilings(worker.engine, worker.timer,
                                   static_cast<std::size_t>(info_.l2_bytes));
  });
}

Vitals TrialRunner::vitals() {
  return noting_loss([&](WorkerState& worker) {
    Vitals vitals{worker.timer.boost_clock_mhz()};
    if (const auto health = worker.nvml ? worker.nvml->health() : std::nullopt) {
      vitals.num_processes = health->num_processes;
    }
    int mps = 0;  // a driver that does not know the question has no service that it could tell of
    const CUresult asked = worker.driver.cuDeviceGetAttribute.result(
        &mps, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, context_.device());
    vitals.mps = asked == CUDA_SUCCESS && mps != 0;
    return vitals;
  });
}

std::string TrialRunner::cublas_version() {
  try {
    return ready().engine.cublas().version();
  } catch (const Error&) {  // not there, or unfit: whoever needs it will say so
    return "";
  }
}

Outcome TrialRunner::run(const TrialRequest& request) {
  WorkerState& worker = ready();
  const auto begin = std::chrono::steady_clock::now();
  worker.enter_problem(request.plan.problem);
  Outcome outcome = worker.guarded([&] { return run_trial(worker, request); });
  if (outcome.kind == "out_of_memory" && !worker.context_lost) {
    // The memory may be full of inputs that were kept for other configurations.
    worker.release_memory();
    outcome = worker.guarded([&] { return run_trial(worker, request); });
  }
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - begin;
  outcome.device_ms = elapsed.count();
  return outcome;
}

Outcome TrialRunner::verify(const TrialRequest& request, const VerifySpec& spec) {
  WorkerState& worker = ready();
  worker.enter_problem(request.plan.problem);
  const Outcome outcome = worker.guarded([&] { return run_check(worker, request, spec); });
  worker.release_memory();
  return outcome;
}

std::vector<Measurement> TrialRunner::count(const TrialRequest& request,
                                            const std::vector<std::string>& names) {
  return noting_loss([&](WorkerState& worker) {
    const Cupti cupti;
    const CounterSession session(cupti, CounterSession::chip_of(cupti, context_.device()),
                                 metrics_of(names));
    worker.enter_problem(request.plan.problem);
    worker.arena.reserve(arena_bytes(request.plan));
    PreparedTrial trial(worker, request);
    trial.check();
    const bool hot = request.measure.protocol == name_of(kProtocols, Preparation::hot);
    const std::vector<double> values = session.count(
        context_.get(),
        [&] {
          trial.ready(request.seed);
          if (hot) {
            trial.enqueue();
          } else {
            worker.timer.flush();
          }
          worker.synchronise();
        },
        [&] {
          trial.enqueue();
          worker.synchronise();
        });
    std::map<std::string, double, std::less<>> by_metric;
    for (std::size_t i = 0; i < values.size(); ++i) by_metric[session.metrics()[i]] = values[i];
    return counters_from(names, by_metric);
  });
}

std::vector<std::string> TrialRunner::countable(const std::vector<std::string>& names) {
  WorkerState& worker = ready();
  const Cupti cupti;
  const CounterSession session(cupti, CounterSession::chip_of(cupti, context_.device()),
                               metrics_of(names));
  const Work flush = [&] {
    worker.timer.flush();
    worker.synchronise();
  };
  noting_loss([&](WorkerState&) { return session.count(context_.get(), flush, flush); });
  std::map<std::string, double, std::less<>> present;
  for (const std::string& metric : session.metrics()) present[metric] = 1;
  std::vector<std::string> known;
  for (const Measurement& counted : counters_from(names, present)) known.push_back(counted.name);
  return known;
}

void TrialRunner::launch(const TrialRequest& request) { launch_alone(ready(), request); }

std::vector<BaselineTiming> TrialRunner::run_baselines(const TrialRequest& request,
                                                       const std::vector<std::string>& baselines) {
  return noting_loss(
      [&](WorkerState& worker) { return time_baselines(worker, request, baselines); });
}

RerankResult TrialRunner::rerank(const std::vector<TrialRequest>& candidates,
                                 const std::vector<std::string>& baselines, const RerankSpec& spec,
                                 int num_workers) {
  return noting_loss([&](WorkerState& worker) {
    return rerank_in_turn(worker, candidates, baselines, spec, num_workers);
  });
}

SelfTest TrialRunner::self_test() {
  return noting_loss([&](WorkerState& worker) { return measure_self(worker); });
}

}  // namespace assay
