#include "device/gpu_device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "device/gpu_turn.h"
#include "device/sanitizer.h"
#include "device/worker_process.h"
#include "device/worker_rerank.h"
#include "messages/messages.h"

namespace assay {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

// cuInit takes seconds on a host with several GPUs and no persistence daemon.
constexpr double kStartTimeoutS = 60;
// Measuring the ceilings and the self-test take a few thousand launches of the harness's own
// kernels.
constexpr double kInstrumentTimeoutS = 120;
// Twice as many algorithms as cuBLASLt has ever offered, each timed like a configuration.
constexpr int kAlgorithmsPerBaseline = 16;
// For the watchdog of a re-rank. The first is the time around a sample, without the rest. The
// second is the least number of rounds of short work: two at each allocation. The third is the time
// for all else: loading everyone's code at every allocation, further rounds, energy, last checks.
constexpr double kAroundSampleSeconds = 0.005;
constexpr int kRoundsOfShortWork = 64;
constexpr double kRerankSlackSeconds = 60;
// A check of a verification ends with what is under way: references and launches on six kinds of
// data.
constexpr double kVerifySlackSeconds = 20;
// Counters need some passes, and CUPTI a while to start.
constexpr double kCountSlackSeconds = 60;
// The kind of a trial whose workers were killed from outside, see is_machine_fault.
constexpr const char* kKilled = "killed";
constexpr const char* kCrash = "crash";  // of one whose workers died of themselves, both of them

json encode_all(const std::vector<TrialRequest>& requests) {
  json array = json::array();
  for (const TrialRequest& request : requests) array.push_back(message::encode(request));
  return array;
}

Outcome failure(Status status, std::string kind, std::string text) {
  Outcome outcome;
  outcome.status = status;
  outcome.kind = std::move(kind);
  outcome.message = std::move(text);
  return outcome;
}

/// What the entry says that lost the context of a re-rank's worker.
Outcome lost_context_outcome(const RerankResult& result) {
  for (const RerankEntry& entry : result.candidates) {
    if (entry.outcome.status != Status::correct) return entry.outcome;
  }
  if (result.duplicate && result.duplicate->outcome.status != Status::correct) {
    return result.duplicate->outcome;
  }
  return failure(Status::runtime, "sticky", "a baseline lost the context");
}

/// An answer's result. Throws what the worker threw.
json result_of(json answer) {
  if (answer.contains("error")) {
    const std::string sentence = answer["error"];
    if (answer.value("usage", false)) throw UsageError(sentence);
    throw Error(sentence);
  }
  return std::move(answer.at("result"));
}

}  // namespace

struct GpuDevice::Impl {
  using Event = WorkerProcess::Event;

  explicit Impl(GpuOptions given) : options(std::move(given)) {
    // Use the link and not its target: it finds the program even after a rebuild has replaced the
    // file.
    if (options.worker_program.empty()) options.worker_program = "/proc/self/exe";
  }

  GpuOptions options;
  DeviceInfo info;
  std::string provenance;  // always empty: measured here
  std::optional<GpuTurns> turns;
  std::optional<json> setup;
  std::unique_ptr<WorkerProcess> worker;
  std::unique_ptr<WorkerProcess> dying;  // killed; reaped while its replacement starts
  bool ready = false;                    // the worker has answered hello and setup
  int num_started = 0;
  std::string start_failure;  // why the last start failed
  bool context_lost = false;  // the last answer came from a worker that lost its context
  bool refused = false;       // whether it was a live worker that said so

  /// Starts a worker and queues its first requests. So the driver starts up while the parent stores
  /// the last trial. await_ready() reads the answers.
  void launch() {
    dying = std::move(worker);
    if (dying) dying->kill();
    ready = false;
    ++num_started;
    try {
      worker = std::make_unique<WorkerProcess>(options.worker_program, options.index);
    } catch (const Error& error) {
      start_failure = error.what();
      return;
    }
    worker->send(message::pack({{"verb", "hello"}}));
    if (setup) worker->send(message::pack(*setup));
  }

  void await_ready() {
    if (ready && !worker->connected()) launch();  // it died while idle: the fault of no trial
    int failed_starts = 0;
    while (!ready) {
      dying.reset();
      if (worker && started()) {
        ready = true;
        return;
      }
      // If the first worker itself refused (no driver, no such GPU), another would refuse too.
      if (refused && info.name.empty()) throw Error(start_failure);
      if (++failed_starts >= options.max_failed_starts) throw lost();
      launch();
    }
  }

  /// Reads the answers to hello and setup. False, with start_failure set, when this worker cannot
  /// be used.
  bool started() {
    refused = false;
    try {
      DeviceInfo found = message::decode<DeviceInfo>(receive_start());
      if (!info.uuid.empty() && found.uuid != info.uuid) {
        // Where a GPU drops out, those behind it move up.
        start_failure = fmt::format("it was {}, and is another one now: {} {}", info.uuid,
                                    found.name, found.uuid);
        return false;
      }
      info = std::move(found);
      if (setup) receive_start();
      return true;
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& error) {
      start_failure = error.what();
      return false;
    }
  }

  json receive_start() {
    const WorkerProcess::Received received = worker->receive(kStartTimeoutS);
    switch (received.event) {
      case Event::answer: {
        json answer = message::unpack(received.text);
        refused = answer.contains("error");
        return result_of(std::move(answer));
      }
      case Event::interrupted:
        worker->kill();
        throw Interrupted();
      case Event::timed_out:
        throw Error(fmt::format("worker did not start within {} seconds", kStartTimeoutS));
      case Event::ended:
      case Event::killed:
      case Event::garbage:
        break;
    }
    throw Error(received.text);
  }

  Error lost() const {
    if (info.name.empty()) {
      return Error(fmt::format("GPU {} cannot be used: {}", options.index, start_failure));
    }
    return Error(fmt::format("GPU {} ({}) is lost: {}; everything measured so far is stored",
                             options.index, info.name, start_failure));
  }

  /// Sends a request and hands its result to `take`. If the worker hung, died, sent garbage or lost
  /// its context, returns what went wrong; the worker is then being replaced. Where the worker was
  /// killed or died the request is sent once more. Throws what the worker threw.
  std::optional<Outcome> ask(const json& request, double timeout_s,
                             const std::function<void(const json&)>& take) {
    std::optional<Outcome> failed = ask_once(request, timeout_s, take);
    const std::string kind = failed ? failed->kind : "";
    if (kind != kKilled && kind != kCrash) return failed;
    try {
      await_ready();
    } catch (const Error&) {
      return failed;  // that the GPU is lost is said of the next request
    }
    failed = ask_once(request, timeout_s, take);
    if (failed && failed->kind == kind) failed->message += ", as did the one before it";
    return failed;
  }

  std::optional<Outcome> ask_once(const json& request, double timeout_s,
                                  const std::function<void(const json&)>& take) {
    await_ready();
    if (!turns) turns.emplace(info.uuid);
    const GpuTurns::Turn turn = turns->wait();
    const Clock::time_point start = Clock::now();
    context_lost = false;
    worker->send(message::pack(request));
    const WorkerProcess::Received received = worker->receive(timeout_s);
    std::optional<Outcome> failed;
    switch (received.event) {
      case Event::interrupted:
        worker->kill();
        throw Interrupted();
      case Event::answer:
        failed = read_answer(received.text, take);
        break;
      case Event::timed_out:
        failed = failure(
            Status::timeout, "hang",
            fmt::format("no answer within {:.3g} seconds; the worker was killed", timeout_s));
        break;
      case Event::ended:
        failed = failure(Status::runtime, kCrash, received.text);
        break;
      case Event::killed:
        failed = failure(Status::runtime, kKilled, received.text);
        break;
      case Event::garbage:
        failed = failure(Status::runtime, kCrash, "worker sent garbage: " + received.text);
        break;
    }
    if (failed) {
      failed->device_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
      launch();
    }
    return failed;
  }

  std::optional<Outcome> read_answer(const std::string& text,
                                     const std::function<void(const json&)>& take) {
    json answer;
    try {
      answer = message::unpack(text);
      if (answer.contains("failed")) return message::decode<Outcome>(answer["failed"]);
      if (!answer.contains("error")) take(answer.at("result"));
    } catch (const std::exception& error) {
      return failure(Status::runtime, kCrash, std::string("worker sent garbage: ") + error.what());
    }
    context_lost = answer.value("context_lost", false);
    if (answer.contains("error")) {
      if (context_lost) return failure(Status::runtime, "sticky", answer["error"]);
      result_of(std::move(answer));
    }
    if (context_lost) launch();
    return std::nullopt;
  }

  /// Like ask, for a request that involves no configuration. So a failure is the machine's.
  void demand(const json& request, double timeout_s, const std::function<void(const json&)>& take) {
    if (const std::optional<Outcome> failed = ask(request, timeout_s, take)) {
      throw Error(fmt::format("GPU {} ({}): {}", options.index, info.name, failed->message));
    }
  }

  /// Tries once. Returns what went wrong if the worker, or its context, did not survive it.
  std::optional<Outcome> rerank(const WorkerRerank& part, RerankResult& reranked) {
    const std::optional<Outcome> failed =
        ask({{"verb", "rerank"},
             {"candidates", encode_all(part.candidates)},
             {"baselines", part.baselines},
             {"spec", message::encode(part.spec)},
             {"num_workers", part.num_workers}},
            rerank_timeout_s(part), [&](const json& answer) {
              reranked = message::decode<RerankResult>(answer);
              if (reranked.candidates.size() != part.candidates.size()) {
                throw Error("a re-rank lacks candidates");
              }
            });
    return !failed && context_lost ? lost_context_outcome(reranked) : failed;
  }

  /// How long a re-rank may take: every sample takes three times its screened time, and there is
  /// time for loading and the last checks. Where a time is not known, every sample takes the whole
  /// limit of its configuration.
  double rerank_timeout_s(const WorkerRerank& part) const {
    double round_s = 0;
    for (const TrialRequest& candidate : part.candidates) {
      const double limit_s = candidate.measure.max_seconds_per_config;
      const double sample_s = candidate.screened_ns ? kLongestRestSeconds + kAroundSampleSeconds +
                                                          3e-9 * *candidate.screened_ns
                                                    : limit_s;
      round_s += std::min(sample_s, limit_s);
    }
    // The A/A duplicate and the algorithms of a baseline take no longer, on average, than a
    // candidate.
    const auto num_candidates = static_cast<double>(part.candidates.size());
    const double entries =
        num_candidates + 1 + static_cast<double>(kAlgorithmsPerBaseline * part.baselines.size());
    const double rounds = std::max(part.spec.rounds, kRoundsOfShortWork);
    return timeout_s(part.candidates.front().measure) + kRerankSlackSeconds +
           rounds * round_s / num_candidates * entries;
  }

  double timeout_s(const MeasureSpec& measure, std::size_t times = 1) const {
    const double settle_s = measure.protocol == "sustained" ? kLongestSettleSeconds : 0;
    return options.hang_timeout_s + settle_s +
           static_cast<double>(times) * measure.max_seconds_per_config;
  }
};

GpuDevice::GpuDevice(GpuOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {
  impl_->launch();
  impl_->await_ready();
}

GpuDevice::~GpuDevice() = default;

void GpuDevice::setup(const std::filesystem::path& support_cubin,
                      const std::optional<Ceilings>& ceilings) {
  json request = {{"verb", "setup"}, {"support_cubin", support_cubin.string()}};
  if (ceilings) request["ceilings"] = message::encode(*ceilings);
  impl_->demand(request, kStartTimeoutS, [](const json&) {});
  impl_->setup = std::move(request);
}

const DeviceInfo& GpuDevice::info() const { return impl_->info; }
const std::string& GpuDevice::provenance() const { return impl_->provenance; }
int GpuDevice::num_workers_started() const { return impl_->num_started; }

std::string GpuDevice::cublas_version() {
  std::string version;
  impl_->demand({{"verb", "cublas_version"}}, kInstrumentTimeoutS,
                [&](const json& result) { version = result.get<std::string>(); });
  return version;
}

Outcome GpuDevice::run(const TrialRequest& request) {
  Outcome outcome;
  const std::optional<Outcome> failed = impl_->ask(
      {{"verb", "run"}, {"trial", message::encode(request)}}, impl_->timeout_s(request.measure),
      [&](const json& result) { outcome = message::decode<Outcome>(result); });
  return failed ? *failed : outcome;
}

std::vector<BaselineTiming> GpuDevice::run_baselines(const TrialRequest& request,
                                                     const std::vector<std::string>& baselines) {
  std::vector<BaselineTiming> timings;
  const std::optional<Outcome> failed = impl_->ask(
      {{"verb", "baselines"}, {"trial", message::encode(request)}, {"baselines", baselines}},
      impl_->timeout_s(request.measure, kAlgorithmsPerBaseline * baselines.size()),
      [&](const json& result) {
        for (const json& item : result) timings.push_back(message::decode<BaselineTiming>(item));
      });
  if (failed) {
    print_err("warning: {} {}: the baselines are missing: {}\n", request.plan.kernel,
              to_text(request.plan.problem), failed->message);
    timings.clear();
  }
  return timings;
}

RerankResult GpuDevice::rerank(const std::vector<TrialRequest>& candidates,
                               const std::vector<std::string>& baselines, const RerankSpec& spec) {
  return rerank_by_workers(
      {candidates, baselines, spec},
      [&](const WorkerRerank& part, RerankResult& result) { return impl_->rerank(part, result); },
      [&] { impl_->launch(); });
}

std::vector<Measurement> GpuDevice::count(const TrialRequest& request,
                                          const std::vector<std::string>& names) {
  std::vector<Measurement> counted;
  const std::optional<Outcome> failed =
      impl_->ask({{"verb", "count"}, {"trial", message::encode(request)}, {"counters", names}},
                 impl_->options.hang_timeout_s + kCountSlackSeconds, [&](const json& result) {
                   for (const json& each : result) {
                     counted.push_back({each.at("name"), each.at("value"), each.at("unit")});
                   }
                 });
  if (failed) {
    throw Error(fmt::format("nothing was counted: {}: {}", failed->kind, failed->message));
  }
  return counted;
}

std::vector<std::string> GpuDevice::countable(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  impl_->demand({{"verb", "countable"}, {"counters", names}},
                impl_->options.hang_timeout_s + kCountSlackSeconds,
                [&](const json& result) { known = result.get<std::vector<std::string>>(); });
  return known;
}

Outcome GpuDevice::verify(const TrialRequest& request, const VerifySpec& spec) {
  Outcome outcome;
  const std::optional<Outcome> failed = impl_->ask(
      {{"verb", "verify"}, {"trial", message::encode(request)}, {"check", message::encode(spec)}},
      impl_->options.hang_timeout_s + kVerifySlackSeconds + spec.max_seconds,
      [&](const json& result) { outcome = message::decode<Outcome>(result); });
  return failed ? *failed : outcome;
}

VerificationCheck GpuDevice::sanitize(const std::filesystem::path& sanitizer, std::string_view tool,
                                      const TrialRequest& request) {
  const std::filesystem::path file = cache_directory() / fmt::format("launch-{}.cbor", ::getpid());
  json message = impl_->setup.value();
  message["trial"] = message::encode(request);
  write_file_atomic(file, message::pack(message));
  // For another process, "self" is another program.
  const std::filesystem::path own = fmt::format("/proc/{}/exe", ::getpid());
  const std::filesystem::path& program = impl_->options.worker_program;
  impl_->await_ready();
  if (!impl_->turns) impl_->turns.emplace(impl_->info.uuid);
  const GpuTurns::Turn turn = impl_->turns->wait();
  const VerificationCheck check = assay::sanitize(
      sanitizer, tool, program == "/proc/self/exe" ? own : program,
      {"worker", "--launch", file.string(), "--device", std::to_string(impl_->options.index)});
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  return check;
}

Ceilings GpuDevice::measure_ceilings() {
  Ceilings ceilings;
  impl_->demand({{"verb", "ceilings"}}, kInstrumentTimeoutS,
                [&](const json& result) { ceilings = message::decode<Ceilings>(result); });
  return ceilings;
}

Vitals GpuDevice::vitals() {
  Vitals vitals;
  impl_->demand({{"verb", "vitals"}}, kInstrumentTimeoutS,
                [&](const json& result) { vitals = message::decode<Vitals>(result); });
  return vitals;
}

SelfTest GpuDevice::self_test() {
  SelfTest test;
  impl_->demand({{"verb", "self_test"}}, kInstrumentTimeoutS,
                [&](const json& result) { test = message::decode<SelfTest>(result); });
  return test;
}

}  // namespace assay
