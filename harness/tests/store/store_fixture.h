#pragma once

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "base/stats.h"
#include "base/trial.h"
#include "base/value.h"
#include "message_of.h"
#include "processes.h"
#include "ranking/claims.h"
#include "ranking/ranking.h"
#include "store/fields.h"
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
  Timing timing;
  timing.samples_ns = std::move(samples_ns);
  derive(timing);
  timing.stop = StopReason::precision;
  return timing;
}

inline TrialRecord record_of(const TrialKey& key, Outcome outcome = {}) {
  return {
      key, {12.5, false, 128, 4, 8, 1024, "cubin"}, std::move(outcome), "2026-11-21T10:00:00Z", {}};
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

inline BaselineRecord baseline_of(const std::string& name, const std::string& finished_at) {
  const TrialKey key = key_of(1);
  return {"gemm_bf16", key.problem, key.protocol,         key.toolchain,
          name,        "algorithm", timing_of({1, 2, 3}), finished_at};
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
  RankEntry failed{"gemm", "BLOCK=2", {}};
  failed.failure = "mismatch at [0, 1]";
  std::vector<RankEntry> entries = {
      {"gemm", "BLOCK=1", {5, 6, 7}}, {"", "cublaslt", {9, 9, 9}}, failed};
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

/// Writes every field with every digit.
class Description {
 public:
  template <class... Members>
  void operator()(const Field&, const Members&... members) {
    (add(members), ...);
  }
  bool has(const char*, bool) const { return true; }

  template <class T>
  void add(const T& value) {
    if constexpr (Word<T>) {
      text += fmt::format("{} ", to_text(value));
    } else if constexpr (std::same_as<T, Problem> || std::same_as<T, Config>) {
      text += to_text(value) + ' ';
    } else if constexpr (!std::same_as<T, typename Held<T>::Type>) {
      value ? add(*value) : add(std::string("none"));
    } else if constexpr (Described<T>) {
      text += '{';
      fields(*this, value);
      text += "}\n";
    } else if constexpr (std::integral<T> || std::same_as<T, double> ||
                         std::same_as<T, std::string>) {
      text += fmt::format("{} ", value);
    } else {
      text += '[';
      for (const auto& each : value) add(each);
      text += ']';
    }
  }

  std::string text;
};

/// Equal texts are equal values.
template <Described Record>
std::string describe(const Record& record) {
  Description description;
  description.add(record);
  return description.text;
}

}  // namespace assay
