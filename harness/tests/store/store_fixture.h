#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>

#include "base/stats.h"
#include "base/trial.h"
#include "base/value.h"
#include "ranking/ranking.h"
#include "store/store.h"
#include "temp_folder.h"

namespace assay {

/// Waits for no lock for long.
inline constexpr std::chrono::milliseconds kShort(20);

inline DeviceInfo h200() {
  return {"NVIDIA H200", "GPU-1234", "580.1", 90, 132, 232448, 62914560, 150754820096};
}

inline TrialKey key_of(std::int64_t block) {
  return {{"gemm", "gemm_bf16", "source", "contract"},
          {"13.0", "90a", "--use_fast_math", "580.1"},
          {"cold", 0.005},
          {{"M", 16}, {"N", 4096}},
          {{"BLOCK", block}, {"SCHEDULE", "row"}}};
}

inline Timing timing_of(std::vector<double> samples_ns) {
  const Interval interval = median_interval(samples_ns);
  Timing timing;
  timing.samples_ns = samples_ns;
  timing.median_ns = median(samples_ns);
  timing.ci_low_ns = interval.low;
  timing.ci_high_ns = interval.high;
  timing.stop = StopReason::precision;
  return timing;
}

inline TrialRecord record_of(const TrialKey& key, Outcome outcome = {}) {
  return {key.kernel,
          key.toolchain,
          key.protocol,
          key.problem,
          key.config,
          {12.5, false, 128, 4, 8, 1024, "cubin"},
          std::move(outcome),
          "2026-11-21T10:00:00Z",
          {}};
}

inline TrialRecord timed_record(const TrialKey& key) {
  Outcome outcome;
  outcome.validation = Validation{0.001, 0.01, 0.25, 65536};
  outcome.timing = timing_of({1000.1, 1010.2, 990.3, 1000.4, 1000.5, 1000.6, 1234.5});
  outcome.timing->clocks_mhz = {1980, 1980, 0, 1965, 1965, 1755, 1980};
  outcome.timing->clock_mhz = 1972.5;
  outcome.timing->state = GpuState{0x5, 312.5, 61};
  outcome.timing->num_throttled = 2;
  outcome.timing->roofline_ns = 800.3;
  outcome.timing->time_limit_s = 2.5;
  outcome.device_ms = 3.25;
  outcome.prepared = Prepared{12345.5, std::int64_t{3} << 40};
  outcome.same_as = "BLOCK=0";
  TrialRecord record = record_of(key, outcome);
  record.measurements = {{"dram_bytes", 1048576, "B"}, {"l2_hit_ratio", 0.25, ""}};
  return record;
}

inline std::int64_t begin(Store& store, const std::string& name = "sweep",
                          const std::string& provenance = "") {
  return store.begin_sweep(name, "sweep: " + name, "assay sweep", h200(), provenance);
}

/// Makes a database with a sweep of so many trials.
inline void fill(const std::filesystem::path& path, std::int64_t num_trials) {
  Store store = Store::open(path);
  const std::int64_t sweep = store.begin_sweep("sweep", "", "", h200(), "");
  for (std::int64_t i = 0; i < num_trials; ++i) {
    store.claim(sweep, key_of(i));
    store.finish(sweep, timed_record(key_of(i)));
  }
  store.end_sweep(sweep, "done");
}

inline RankRecord rank_of(const std::string& finished_at) {
  TimedEntry failed{{"gemm", "BLOCK=2", {}}};
  failed.failure = "mismatch at [0, 1]";
  std::vector<TimedEntry> entries = {
      {{"gemm", "BLOCK=1", {5, 6, 7}}}, {{"", "cublaslt", {9, 9, 9}}}, failed};
  const std::vector<double> again = {5, 6, 7.5};
  const NoiseFloor noise{"gemm", "BLOCK=1", again, paired_ratio(again, entries.front().samples_ns)};
  return {"gemm_bf16",
          key_of(1).problem,
          key_of(1).protocol,
          3,
          rank_entries(std::move(entries), noise.margin_ratio()),
          finished_at,
          noise};
}

/// What is wrong with a database but for its verdicts, whose numbers tests make up.
inline std::vector<std::string> damage(const Store& store) {
  std::vector<std::string> problems = store.check();
  std::erase_if(problems,
                [](const std::string& problem) { return problem.starts_with("the verdict on"); });
  return problems;
}

/// Every field with every digit: equal texts are equal values.
inline std::string describe(const Timing& timing) {
  const GpuState state = timing.state.value_or(GpuState{});
  return fmt::format("[{}] {} ({}, {}) {} [{}] {} {} {} {} {} {} {} {}",
                     fmt::join(timing.samples_ns, " "), timing.median_ns, timing.ci_low_ns,
                     timing.ci_high_ns, to_text(timing.stop), fmt::join(timing.clocks_mhz, " "),
                     timing.clock_mhz, timing.state.has_value(), state.throttle_reasons,
                     state.power_w, state.temperature_c, timing.num_throttled, timing.roofline_ns,
                     timing.time_limit_s);
}

inline std::string describe(const Toolchain& toolchain, const Protocol& protocol,
                            const Problem& problem) {
  return fmt::format("{}/{}/{}/{} {}@{} {}", toolchain.nvrtc, toolchain.arch, toolchain.options,
                     toolchain.driver, protocol.name, protocol.precision_ratio, to_text(problem));
}

inline std::string describe(const TrialRecord& record) {
  const auto& [kernel, toolchain, protocol, problem, config, compile, outcome, finished_at,
               measurements, verification] = record;
  std::string text = fmt::format(
      "{}/{}/{}/{} {} {}\ncompile {} {} {} {} {} {} {}\noutcome {}/{}/{} {} at {}\n", kernel.name,
      kernel.op, kernel.source_hash, kernel.contract_hash, describe(toolchain, protocol, problem),
      to_text(config), compile.compile_ms, compile.cached, compile.registers, compile.spill_bytes,
      compile.stack_bytes, compile.static_smem_bytes, compile.cubin_hash, to_text(outcome.status),
      outcome.kind, outcome.message, outcome.device_ms, finished_at);
  if (const auto& prepared = outcome.prepared) {
    text += fmt::format("prepared {} {}\n", prepared->time_ns, prepared->bytes);
  }
  text += fmt::format("same as {}\n", outcome.same_as);
  if (const auto& validation = outcome.validation) {
    text += fmt::format("validation {} {} {} {} {}\n", validation->relative_error,
                        validation->relative_limit, validation->worst_element_ratio,
                        validation->elements, validation->reference);
  }
  if (outcome.timing) text += "timing " + describe(*outcome.timing);
  for (const Measurement& measurement : measurements) {
    text += fmt::format("\n{} {} {}", measurement.name, measurement.value, measurement.unit);
  }
  if (verification) {
    text += fmt::format("\nverified {} with {}", verification->finished_at,
                        describe(verification->toolchain, {}, {}));
    for (const VerificationCheck& check : verification->checks) {
      text += fmt::format("\n{} {} '{}'", check.name, to_text(check.result), check.message);
    }
  }
  return text;
}

inline std::string describe(const BaselineRecord& record) {
  return fmt::format("{} {} {} {} {} at {} {} {}", record.op,
                     describe(record.toolchain, record.protocol, record.problem), record.name,
                     record.detail, describe(record.timing), record.finished_at, record.cublas,
                     record.contract_hash);
}

inline std::string describe(const RankRecord& record) {
  std::string text = fmt::format("{} {} {} at {} least {}\n", record.op,
                                 describe({}, record.protocol, record.problem), record.rounds,
                                 record.finished_at, to_text(record.objective));
  const RankIdentity& identity = record.identity;
  text +=
      fmt::format("of {} {} {} {} {} [{}] {} to {} with {}\n", identity.candidates,
                  identity.num_candidates, identity.top, identity.least_rounds,
                  to_text(identity.objective), fmt::join(identity.baselines, " "), identity.cublas,
                  identity.precision_ratio, describe(record.toolchain, {}, {}));
  for (const KernelVersion& kernel : record.kernels) {
    text += fmt::format("{} {} {} {}\n", kernel.name, kernel.op, kernel.source_hash,
                        kernel.contract_hash);
  }
  for (const RankEntry& entry : record.entries) {
    const Interval& ratio = entry.ratio_to_best;
    const Interval& speedup = entry.speedup_over_baseline;
    const Interval& cycles = entry.cycles_ratio_to_best;
    text += fmt::format(
        "{} {} [{}] {} {} {} {} {} {} {} {} {} '{}' {} [{}] {} {} {} {} {} {}\n", entry.kernel,
        entry.config, fmt::join(entry.samples_ns, " "), entry.median_ns, ratio.value, ratio.low,
        ratio.high, speedup.value, speedup.low, speedup.high, entry.winner, entry.tied,
        entry.failure, entry.eliminated, fmt::join(entry.clocks_mhz, " "), cycles.value, cycles.low,
        cycles.high, entry.energy_j, entry.roofline_ns, to_text(entry.figures));
  }
  if (const auto& noise = record.noise) {
    text += fmt::format("noise {} {} [{}] {} {} {}\n", noise->kernel, noise->config,
                        fmt::join(noise->samples_ns, " "), noise->ratio.value, noise->ratio.low,
                        noise->ratio.high);
  }
  return text;
}

/// Starts `body` in a process of its own, which ends without running this one's destructors.
inline pid_t start_process(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  int code = 99;
  try {
    code = body();
  } catch (const std::exception& error) {
    fmt::print(stderr, "child: {}\n", error.what());
  }
  _exit(code);
}

/// The exit code of a process, or -1 if a signal ended it.
inline int wait_for(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The message of the exception that `action` throws, which must be an `Expected`.
template <class Expected, class Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const Expected& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another exception: ") + error.what();
  }
  return "no exception";
}

}  // namespace assay
