#include "device/gpu_device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "device/gpu_workers.h"
#include "device/sanitizer.h"
#include "messages/messages.h"

namespace assay {
namespace {

using nlohmann::json;

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

json encode_all(const std::vector<TrialRequest>& requests) {
  json array = json::array();
  for (const TrialRequest& request : requests) array.push_back(message::encode(request));
  return array;
}

/// What the worker answers to a request that involves no configuration.
template <typename T>
T answer_of(GpuWorkers& workers, const char* verb) {
  T answer;
  workers.demand({{"verb", verb}}, kInstrumentTimeoutS,
                 [&](const json& result) { answer = message::decode<T>(result); });
  return answer;
}

/// What became of a configuration that the worker was asked about.
Outcome outcome_of(GpuWorkers& workers, const json& request, double timeout_s) {
  Outcome outcome;
  const std::optional<Outcome> failed = workers.ask(
      request, timeout_s, [&](const json& result) { outcome = message::decode<Outcome>(result); });
  return failed ? *failed : outcome;
}

/// What the entry says that lost the context of a re-rank's worker.
Outcome lost_context_outcome(const RerankResult& result) {
  for (const RerankEntry& entry : result.candidates) {
    if (entry.outcome.status != Status::correct) return entry.outcome;
  }
  if (result.duplicate && result.duplicate->outcome.status != Status::correct) {
    return result.duplicate->outcome;
  }
  return {Status::runtime, "sticky", "a baseline lost the context"};
}

// The time of a kernel depends, by some 30 ns, on where its code and data lie, and that stays the
// same for as long as a process lives. cuBLAS's code cannot be moved within a process. So a 12 us
// product's ratio to cuBLAS has a standard deviation of 0.19 % from process to process (75 workers
// on an H200). That is why a re-rank of short work is divided over so many workers.
constexpr double kShortWorkNs = 50e3;
constexpr int kWorkersForShortWork = 3;

// Energy does not depend on allocations, so that one worker measures energy. Later workers measure
// times alone, of all candidates that may win.
const Objective kTimesOfAll = parse_objective("minimize time_ns").value();

/// The part of one worker, and of those that replace it.
RerankResult rerank_sound(const WorkerRerank& part, const RerankAttempt& attempt) {
  RerankResult result;
  std::optional<Outcome> failed = attempt(part, result);
  if (!failed) return result;

  // Nothing says which candidate ended the worker, so try each of them alone.
  std::vector<RerankEntry> entries;
  WorkerRerank sound = {{}, part.baselines, part.spec, part.num_workers};
  for (const TrialRequest& candidate : part.candidates) {
    RerankResult alone;
    failed = attempt({{candidate}, {}, {.rounds = 1}, part.num_workers}, alone);
    // It may not end the worker and be wrong all the same.
    entries.push_back({to_text(candidate.plan.config),
                       {},
                       failed ? *failed : std::move(alone.candidates.at(0).outcome)});
    if (entries.back().outcome.status == Status::correct) sound.candidates.push_back(candidate);
  }
  result = {};
  std::optional<std::size_t> first_sound;
  if (!sound.candidates.empty()) failed = attempt(sound, result);
  std::size_t next = 0;
  for (RerankEntry& entry : entries) {
    if (entry.outcome.status != Status::correct) continue;
    if (!first_sound) first_sound = static_cast<std::size_t>(&entry - entries.data());
    if (failed) {
      entry.outcome = *failed;
    } else {
      entry = std::move(result.candidates.at(next++));
    }
  }
  return {std::move(entries), std::move(result.baselines), std::move(result.duplicate),
          first_sound.value_or(0)};
}

void append(std::vector<double>& whole, const std::vector<double>& more) {
  whole.insert(whole.end(), more.begin(), more.end());
}

void append(RerankEntry& whole, const RerankEntry& more) {
  append(whole.samples_ns, more.samples_ns);
  append(whole.clocks_mhz, more.clocks_mhz);
  whole.outcome = more.outcome;
  whole.eliminated = more.eliminated;
}

/// Adds the rounds of one more worker. Its candidates are those of `whole` at `indices`.
void append(RerankResult& whole, const RerankResult& more,
            const std::vector<std::size_t>& indices) {
  for (std::size_t i = 0; i < indices.size(); ++i) {
    append(whole.candidates.at(indices[i]), more.candidates.at(i));
  }
  for (std::size_t i = 0; i < more.baselines.size(); ++i) {
    append(whole.baselines.at(i), more.baselines[i]);
  }
  if (whole.duplicate && more.duplicate && indices.at(more.duplicate_of) == whole.duplicate_of) {
    append(*whole.duplicate, *more.duplicate);
  }
}

}  // namespace

/// Tries once. Returns what went wrong if the worker, or its context, did not survive it.
std::optional<Outcome> GpuDevice::rerank_part(const WorkerRerank& part, RerankResult& reranked) {
  const std::optional<Outcome> failed =
      workers_->ask({{"verb", "rerank"},
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
  return !failed && workers_->context_lost() ? lost_context_outcome(reranked) : failed;
}

/// How long a re-rank may take: every sample takes three times its screened time, and there is
/// time for loading and the last checks. Where a time is not known, every sample takes the whole
/// limit of its configuration.
double GpuDevice::rerank_timeout_s(const WorkerRerank& part) const {
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

double GpuDevice::timeout_s(const MeasureSpec& measure, std::size_t times) const {
  const double settle_s = measure.protocol == "sustained" ? kLongestSettleSeconds : 0;
  return workers_->options().hang_timeout_s + settle_s +
         static_cast<double>(times) * measure.max_seconds_per_config;
}

GpuDevice::GpuDevice(GpuOptions options)
    : workers_(std::make_unique<GpuWorkers>(std::move(options))) {}

GpuDevice::~GpuDevice() = default;

void GpuDevice::setup(const std::filesystem::path& support_cubin,
                      const std::optional<Ceilings>& ceilings) {
  json request = {{"verb", "setup"}, {"support_cubin", support_cubin.string()}};
  if (ceilings) request["ceilings"] = message::encode(*ceilings);
  workers_->set_up(std::move(request));
}

const DeviceInfo& GpuDevice::info() const { return workers_->info(); }
int GpuDevice::num_workers_started() const { return workers_->num_started(); }

std::string GpuDevice::cublas_version() {
  std::string version;
  workers_->demand({{"verb", "cublas_version"}}, kInstrumentTimeoutS,
                   [&](const json& result) { version = result.get<std::string>(); });
  return version;
}

Outcome GpuDevice::run(const TrialRequest& request) {
  return outcome_of(*workers_, {{"verb", "run"}, {"trial", message::encode(request)}},
                    timeout_s(request.measure));
}

std::vector<BaselineTiming> GpuDevice::run_baselines(const TrialRequest& request,
                                                     const std::vector<std::string>& baselines) {
  std::vector<BaselineTiming> timings;
  const std::optional<Outcome> failed = workers_->ask(
      {{"verb", "baselines"}, {"trial", message::encode(request)}, {"baselines", baselines}},
      timeout_s(request.measure, kAlgorithmsPerBaseline * baselines.size()),
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
      [&](const WorkerRerank& part, RerankResult& result) { return rerank_part(part, result); },
      [&] { workers_->take_next(); });
}

std::vector<Measurement> GpuDevice::count(const TrialRequest& request,
                                          const std::vector<std::string>& names) {
  std::vector<Measurement> counted;
  const std::optional<Outcome> failed = workers_->ask(
      {{"verb", "count"}, {"trial", message::encode(request)}, {"counters", names}},
      workers_->options().hang_timeout_s + kCountSlackSeconds, [&](const json& result) {
        for (const json& each : result) {
          counted.push_back({each.at("name"), each.at("value"), each.at("unit")});
        }
      });
  if (failed) throw Error("nothing was counted: {}: {}", failed->kind, failed->message);
  return counted;
}

std::vector<std::string> GpuDevice::countable(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  workers_->demand({{"verb", "countable"}, {"counters", names}},
                   workers_->options().hang_timeout_s + kCountSlackSeconds,
                   [&](const json& result) { known = result.get<std::vector<std::string>>(); });
  return known;
}

Outcome GpuDevice::verify(const TrialRequest& request, const VerifySpec& spec) {
  return outcome_of(
      *workers_,
      {{"verb", "verify"}, {"trial", message::encode(request)}, {"check", message::encode(spec)}},
      workers_->options().hang_timeout_s + kVerifySlackSeconds + spec.max_seconds);
}

VerificationCheck GpuDevice::sanitize(const std::filesystem::path& sanitizer, std::string_view tool,
                                      const TrialRequest& request) {
  const std::filesystem::path file = cache_directory() / fmt::format("launch-{}.cbor", ::getpid());
  json message = workers_->setup();
  message["trial"] = message::encode(request);
  write_file_atomic(file, message::pack(message));
  // For another process, "self" is another program.
  const std::filesystem::path own = fmt::format("/proc/{}/exe", ::getpid());
  const std::filesystem::path& program = workers_->options().worker_program;
  const GpuTurns::Turn turn = workers_->wait_for_turn();
  const VerificationCheck check = assay::sanitize(
      sanitizer, tool, program == "/proc/self/exe" ? own : program,
      {"worker", "--launch", file.string(), "--device", std::to_string(workers_->options().index)});
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  return check;
}

Ceilings GpuDevice::measure_ceilings() { return answer_of<Ceilings>(*workers_, "ceilings"); }
Vitals GpuDevice::vitals() { return answer_of<Vitals>(*workers_, "vitals"); }
SelfTest GpuDevice::self_test() { return answer_of<SelfTest>(*workers_, "self_test"); }

RerankResult rerank_by_workers(WorkerRerank whole, const RerankAttempt& attempt,
                               const std::function<void()>& take_next) {
  if (whole.candidates.empty()) return {};
  const std::optional<double> leader_ns = whole.candidates.front().screened_ns;
  whole.num_workers = leader_ns && *leader_ns < kShortWorkNs ? kWorkersForShortWork : 1;
  RerankResult result = rerank_sound(whole, attempt);
  for (int worker = 1; worker < whole.num_workers; ++worker) {
    WorkerRerank part = {{}, whole.baselines, whole.spec, whole.num_workers};
    if (whole.spec.objective != Objective::time) part.spec.objective = kTimesOfAll;
    std::vector<std::size_t> indices;  // of its candidates
    for (std::size_t i = 0; i < whole.candidates.size(); ++i) {
      const RerankEntry& entry = result.candidates[i];
      if (entry.outcome.status != Status::correct || entry.eliminated) continue;
      indices.push_back(i);
      part.candidates.push_back(whole.candidates[i]);
    }
    if (indices.empty()) break;
    take_next();
    append(result, rerank_sound(part, attempt), indices);
  }
  return result;
}

}  // namespace assay
