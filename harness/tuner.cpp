#include "tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <deque>
#include <numeric>
#include <set>

#include "base/elapsed.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "report/table.h"
#include "search/search.h"

namespace assay {
namespace {

constexpr auto kPollPeriod = std::chrono::microseconds(200);

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

void check_interrupt() {
  if (interrupted()) throw Interrupted();
}

/// Adds the time of its own life to a total, however the scope is left.
class AddElapsed {
 public:
  explicit AddElapsed(double& total) : total_(total) {}
  ~AddElapsed() { total_ += seconds_since(start_); }
  AddElapsed(const AddElapsed&) = delete;
  AddElapsed& operator=(const AddElapsed&) = delete;

 private:
  double& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Whether the kernel is written for the architecture: "80" runs on it and on all later ones, "90a"
/// on compute capability 9.0 alone.
bool runs_on(const KernelSpec& kernel, int cc) {
  return std::any_of(kernel.arch.begin(), kernel.arch.end(), [cc](const std::string& arch) {
    const int number = std::stoi(arch);
    return arch.back() == 'a' ? number == cc : number <= cc;
  });
}

Outcome compile_failure(const CompileResult& compiled) {
  Outcome outcome;
  outcome.status = Status::compile;
  outcome.kind = compiled.timed_out ? "timeout" : "error";
  outcome.message = compiled.log;
  return outcome;
}

/// Whether the store has a verdict with a winner for the op, problem, protocol and objective of
/// `asked`, of this device and provenance.
bool is_ranked(const Store& store, const RankRecord& asked, const DeviceInfo& device,
               const std::string& provenance);

bool is_ranked(const Store& store, const RankRecord& asked, const DeviceInfo& device,
               const std::string& provenance) {
  Filter filter;
  filter.op = asked.op;
  filter.problem = to_text(asked.problem);
  const std::vector<RankRow> rows = store.ranks(filter);
  return std::any_of(rows.begin(), rows.end(), [&](const RankRow& row) {
    const bool has_winner = std::any_of(row.record.entries.begin(), row.record.entries.end(),
                                        [](const RankEntry& entry) { return entry.winner; });
    return has_winner && row.device.uuid == device.uuid && row.provenance == provenance &&
           row.record.protocol.name == asked.protocol.name &&
           row.record.objective == asked.objective;
  });
}

}  // namespace

Tuner::Tuner(const SweepSpec& sweep, Device& device, Compiler& compiler, Store& store,
             Progress& progress, Options options)
    : sweep_(sweep),
      device_(device),
      compiler_(compiler),
      store_(store),
      progress_(progress),
      options_(std::move(options)) {
  for (const KernelSpec& kernel : sweep_.kernels) {
    versions_[kernel.name] = {
        kernel.name, kernel.op,
        Compiler::source_hash(kernel.source_path, options_.include_directories),
        kernel.contract_hash};
  }
}

void Tuner::run() {
  started_ = Clock::now();
  sweep_id_ = store_.begin_sweep(sweep_.name, read_file(sweep_.yaml_path), options_.command_line,
                                 device_.info(), options_.provenance);
  const AddElapsed wall(report_.wall_s);
  try {
    run_all();
  } catch (const Interrupted&) {
    compiler_.cancel();
    progress_.finish();
    store_.end_sweep(sweep_id_, "interrupted");
    throw;
  } catch (...) {
    compiler_.cancel();
    progress_.finish();
    // The store itself may have failed. The first error is the one to report.
    try {
      store_.end_sweep(sweep_id_, "failed");
    } catch (const std::exception& error) {
      report_.warnings.push_back(error.what());
    }
    throw;
  }
  progress_.finish();
  store_.end_sweep(sweep_id_, "done");
}

void Tuner::run_all() {
  std::vector<std::string> ops;  // in the order the sweep names their kernels
  for (const KernelSpec& kernel : sweep_.kernels) {
    if (!runs_on(kernel, device_.info().cc)) {
      report_.warnings.push_back(
          fmt::format("{} is left out: it is written for compute capability "
                      "{}, and this device has {}",
                      kernel.name, fmt::join(kernel.arch, ", "), device_.info().cc));
      continue;
    }
    if (std::find(ops.begin(), ops.end(), kernel.op) == ops.end()) ops.push_back(kernel.op);
    for (const Problem& problem : sweep_.problems) {
      const Space::Size size = Space(kernel, problem, device_.info()).size();
      const auto budget = sweep_.search.budget_configs;
      const std::size_t valid = static_cast<std::size_t>(size.valid);
      const std::size_t tried = budget ? std::min(valid, static_cast<std::size_t>(*budget)) : valid;
      report_.total += tried;
      for (const Removal& removal : size.removed) {
        report_.removed[removal.constraint] += removal.points;
      }
    }
  }
  if (report_.total == 0) {
    throw UsageError("nothing to run: the constraints leave no configuration on " +
                     device_.info().name + "; `assay list FILE` shows which removed how many");
  }
  progress_.begin(report_.total);
  for (const Problem& problem : sweep_.problems) {
    for (const std::string& op : ops) run_problem(op, problem);
  }
}

void Tuner::run_problem(const std::string& op, const Problem& problem) {
  std::vector<Candidate> correct;
  measured_in_problem_ = false;
  for (const KernelSpec& kernel : sweep_.kernels) {
    if (kernel.op != op || !runs_on(kernel, device_.info().cc)) continue;
    const std::optional<double> baseline_ns = measure_baselines(kernel, problem);
    progress_.start_problem(kernel.name, to_text(problem), baseline_ns);
    screen(kernel, problem, correct);
  }
  if (!options_.compile_only) rank(op, problem, std::move(correct));
}

std::optional<double> Tuner::measure_baselines(const KernelSpec& kernel, const Problem& problem) {
  if (kernel.baseline.empty() || options_.compile_only) return std::nullopt;
  const auto fastest = [](std::optional<double> best, double time_ns) {
    return best ? std::min(*best, time_ns) : time_ns;
  };
  std::optional<double> best_ns;
  Filter filter;
  filter.op = kernel.op;
  filter.problem = to_text(problem);
  for (const BaselineRow& row : store_.baselines(filter)) {
    if (row.device.uuid != device_.info().uuid || row.device.name != device_.info().name ||
        row.provenance != options_.provenance ||
        row.record.toolchain.driver != device_.info().driver ||
        row.record.protocol.name != sweep_.measure.protocol) {
      continue;
    }
    best_ns = fastest(best_ns, row.record.timing.median_ns);
  }
  if (best_ns) return best_ns;

  check_interrupt();
  const Space space(kernel, problem, device_.info());
  std::optional<Config> first;
  space.for_each([&](const std::vector<int>& point) {
    first = space.config(point);
    return false;
  });
  if (!first) return std::nullopt;
  progress_.start_problem(kernel.name, to_text(problem), std::nullopt);
  progress_.stage("timing the baseline");
  const AddElapsed busy(report_.device_s);
  TrialRequest request;
  try {
    request = request_of(kernel, problem, *first, {});
  } catch (const PlanError&) {
    return std::nullopt;  // the trials of this problem will each say what is wrong
  }
  const TrialKey key = key_of(kernel, problem, *first);
  for (const BaselineTiming& baseline : device_.run_baselines(request, kernel.baseline)) {
    store_.add_baseline(sweep_id_, {kernel.op, problem, key.protocol, key.toolchain, baseline.name,
                                    baseline.detail, baseline.timing, now_utc()});
    best_ns = fastest(best_ns, baseline.timing.median_ns);
  }
  return best_ns;
}

void Tuner::screen(const KernelSpec& kernel, const Problem& problem,
                   std::vector<Candidate>& correct) {
  const AddElapsed screening(report_.screening_s);
  const Space space(kernel, problem, device_.info());
  std::vector<std::vector<int>> points;
  space.for_each([&](const std::vector<int>& point) {
    points.push_back(point);
    return true;
  });

  struct InFlight {
    TrialKey key;
    std::size_t history_index = 0;
    std::future<CompileResult> compiled;
  };
  // Enough that no compiler thread is idle while the device runs one trial.
  const std::size_t window_size = 4 * static_cast<std::size_t>(compiler_.num_threads());
  std::vector<Observation> history;
  std::deque<InFlight> window;
  bool exhausted = false;

  const auto fill_window = [&] {
    while (!exhausted && window.size() < window_size) {
      if (out_of_time()) {
        report_.skipped += points.size() - history.size();
        exhausted = true;
        break;
      }
      const std::vector<std::size_t> proposed =
          propose(sweep_.search, points.size(), history, window_size);
      exhausted = proposed.empty();
      for (const std::size_t index : proposed) {
        history.push_back({index, std::nullopt});
        TrialKey key = key_of(kernel, problem, space.config(points[index]));
        if (const std::optional<TrialRecord> stored = store_.find(sweep_id_, key)) {
          take_in(*stored, true, kernel, correct);
          if (stored->outcome.timing) history.back().time_ns = stored->outcome.timing->median_ns;
          continue;
        }
        std::future<CompileResult> compiled = compiler_.submit(compile_job(kernel, key.config));
        window.push_back({std::move(key), history.size() - 1, std::move(compiled)});
      }
      check_interrupt();
    }
  };

  for (fill_window(); !window.empty(); fill_window()) {
    // Take the first that is compiled, so that one slow compile does not hold the device up.
    const auto ready = std::find_if(window.begin(), window.end(), [](const InFlight& item) {
      return item.compiled.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    if (ready == window.end()) {
      const AddElapsed idle(report_.compiler_wait_s);
      window.front().compiled.wait_for(kPollPeriod);
      check_interrupt();
      continue;
    }
    InFlight item = std::move(*ready);
    window.erase(ready);
    const CompileResult compiled = item.compiled.get();
    check_interrupt();
    report_.compile_s += compiled.report.compile_ms / 1e3;

    const Claim claim = store_.claim(sweep_id_, item.key);
    if (claim == Claim::taken) {
      ++report_.taken;
      progress_.count(true, true, std::nullopt);
      continue;
    }
    if (claim == Claim::done) {
      if (const auto stored = store_.find(sweep_id_, item.key))
        take_in(*stored, true, kernel, correct);
      continue;
    }
    std::optional<double> best_ns;
    for (const Candidate& candidate : correct) {
      if (!candidate.censored)
        best_ns = std::min(best_ns.value_or(candidate.median_ns), candidate.median_ns);
    }
    try {
      const TrialRecord record = run_trial(kernel, item.key, compiled, best_ns);
      store_.finish(sweep_id_, record);
      if (record.outcome.timing) {
        history[item.history_index].time_ns = record.outcome.timing->median_ns;
      }
      take_in(record, false, kernel, correct);
    } catch (const Interrupted&) {
      store_.release(sweep_id_, item.key);
      throw;
    }
  }
}

TrialRecord Tuner::run_trial(const KernelSpec& kernel, TrialKey key, const CompileResult& compiled,
                             std::optional<double> best_ns) {
  TrialRecord record;
  if (!compiled.ok) {
    record.outcome = compile_failure(compiled);
  } else {
    const AddElapsed busy(report_.device_s);
    try {
      TrialRequest request = request_of(kernel, key.problem, key.config, compiled);
      request.best_ns = best_ns;
      record.outcome = device_.run(request);
    } catch (const PlanError& error) {
      record.outcome = {Status::runtime, "launch", error.what(), {}, {}, 0};
    }
  }
  record.compile = compiled.report;
  record.kernel = std::move(key.kernel);
  record.toolchain = std::move(key.toolchain);
  record.protocol = std::move(key.protocol);
  record.problem = std::move(key.problem);
  record.config = std::move(key.config);
  record.finished_at = now_utc();
  return record;
}

void Tuner::take_in(const TrialRecord& record, bool kept, const KernelSpec& kernel,
                    std::vector<Candidate>& correct) {
  const Outcome& outcome = record.outcome;
  const bool is_correct = outcome.status == Status::correct;
  const std::pair<Status, std::string> what{outcome.status, outcome.kind};
  ++report_.counts[what];
  if (!is_correct) report_.examples.emplace(what, to_text(record.config) + ": " + outcome.message);
  ++(kept ? report_.kept : report_.measured);
  if (!kept) measured_in_problem_ = true;
  std::optional<double> time_ns;
  if (is_correct && outcome.timing) {
    time_ns = outcome.timing->median_ns;
    correct.push_back({&kernel, record.config, *time_ns, outcome.timing->censored(), record.compile,
                       outcome.timing->roofline_ns});
    if (!kept) report_.racing.add(*outcome.timing);
  }
  progress_.count(kept, is_correct, time_ns);
}

void Tuner::rank(const std::string& op, const Problem& problem, std::vector<Candidate> correct) {
  if (correct.empty()) return;
  check_interrupt();
  const TrialKey key = key_of(*correct.front().kernel, problem, correct.front().config);
  RankRecord asked{op, problem, key.protocol, 0, {}, "", {}, sweep_.rerank.objective};
  if (!measured_in_problem_ && is_ranked(store_, asked, device_.info(), options_.provenance))
    return;
  keep_best(correct, sweep_.rerank.top);
  progress_.stage(fmt::format("re-ranking the best {}", correct.size()));
  const std::vector<TrialRequest> requests = requests_of(correct, problem);
  RerankResult result;
  {
    const AddElapsed busy(report_.device_s);
    result = device_.rerank(requests, correct.front().kernel->baseline, sweep_.rerank);
  }
  asked.finished_at = now_utc();
  const RankRecord record = verdict_of(std::move(asked), result, correct, requests);
  if (record.entries.empty()) return;  // a replay of a recording that was never re-ranked
  if (record.objective != sweep_.rerank.objective) warn_of_no_energy();
  for (const RankEntry& entry : record.entries) {
    if (!entry.failure.empty()) {
      report_.warnings.push_back(fmt::format("{} {} {} was dropped by the re-rank: {}",
                                             to_text(problem), entry.kernel, entry.config,
                                             entry.failure));
    }
  }
  store_.add_rank(sweep_id_, record);
}

void Tuner::warn_of_no_energy() {
  const std::string warning =
      options_.provenance.empty()
          ? fmt::format("energy was not measured on {}: NVML does not tell it; ranked by time",
                        device_.info().name)
          : fmt::format("energy was not {}; ranked by time", options_.provenance);
  // Say it once: it would be the same for each problem.
  std::vector<std::string>& warnings = report_.warnings;
  if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) {
    warnings.push_back(warning);
  }
}

std::vector<TrialRequest> Tuner::requests_of(const std::vector<Candidate>& best,
                                             const Problem& problem) {
  std::vector<TrialRequest> requests;
  for (const Candidate& candidate : best) {
    std::future<CompileResult> future =
        compiler_.submit(compile_job(*candidate.kernel, candidate.config));
    const CompileResult compiled = wait_for(future);
    if (!compiled.ok) {
      throw Error("a cubin of the best configurations cannot be made again: " +
                  to_text(candidate.config) + ": " + compiled.log);
    }
    requests.push_back(request_of(*candidate.kernel, problem, candidate.config, compiled));
    requests.back().screened_ns = candidate.median_ns;
  }
  return requests;
}

CompileJob Tuner::compile_job(const KernelSpec& kernel, const Config& config) const {
  return {kernel.source_path, options_.include_directories, config, options_.arch};
}

CompileResult Tuner::wait_for(std::future<CompileResult>& future) {
  while (future.wait_for(kPollPeriod) != std::future_status::ready) check_interrupt();
  return future.get();
}

TrialKey Tuner::key_of(const KernelSpec& kernel, const Problem& problem,
                       const Config& config) const {
  return {versions_.at(kernel.name),
          {compiler_.nvrtc_version(), options_.arch, compiler_.options(), device_.info().driver},
          {options_.compile_only ? "compile" : sweep_.measure.protocol,
           options_.compile_only ? 0 : sweep_.measure.precision_ratio},
          problem,
          config};
}

TrialRequest Tuner::request_of(const KernelSpec& kernel, const Problem& problem,
                               const Config& config, const CompileResult& compiled) const {
  return {make_plan(kernel, problem, config, device_.info()), compiled.cubin_path, sweep_.measure};
}

bool Tuner::out_of_time() const {
  return sweep_.search.budget_seconds && seconds_since(started_) > *sweep_.search.budget_seconds;
}

}  // namespace assay
