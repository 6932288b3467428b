// What the store costs a sweep: to claim and finish a trial, and to look up one that is done. And
// what 10^5 ordinary trials cost who reads or imports them, whose bar is a second each. Of 10^6,
// the bars are: `best` 15 s and 500 MB, `report` 60 s and 1.5 GB, to open 2 s.
//
// The peak memory is that of the process so far: for one benchmark's, run that alone, such as
// --benchmark_filter=best/1000000.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "report/page_data.h"
#include "report/trials_view.h"
#include "report/tuned_table.h"
#include "store/store.h"

namespace assay {
namespace {

constexpr std::size_t kSamples = 7;
constexpr std::int64_t kMany = 100'000;

// A file in the working folder, so that the figures are those of its disk.
class BenchFile {
 public:
  explicit BenchFile(const char* ending = ".db")
      : path_(fmt::format("store_bench_{}{}", getpid(), ending)) {
    remove();
  }
  BenchFile(const BenchFile&) = delete;
  BenchFile& operator=(const BenchFile&) = delete;
  ~BenchFile() { remove(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  void remove() const {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(path_.string() + suffix);
    }
  }
  std::filesystem::path path_;
};

TrialKey key_of(std::int64_t number) {
  return {{"gemm_mma", "gemm_bf16", std::string(32, 'a'), std::string(32, 'b')},
          {"13.0", "90a", "--use_fast_math -std=c++20", "580.159.04"},
          {"cold", 0.005},
          {{"M", 4096}, {"N", 4096}, {"K", 4096}},
          {{"BLOCK_M", number % 100},
           {"BLOCK_N", number / 100},
           {"BLOCK_K", 64},
           {"WARPS", 8},
           {"STAGES", 4},
           {"SPLIT_K", 1},
           {"GROUP_M", 8},
           {"SCHEDULE", "grouped"}}};
}

TrialRecord record_of(const TrialKey& key) {
  Outcome outcome;
  outcome.validation = Validation{1e-3, 1e-2, 0.2, 16777216};
  outcome.timing = Timing{std::vector<double>(kSamples, 176'224.0), 176'224.0, 176'224.0, 176'224.0,
                          StopReason::precision};
  return {
      key, {431.2, false, 128, 0, 0, 1024, std::string(32, 'c')}, outcome, "2026-11-21T10:00:00Z"};
}

std::int64_t begin(Store& store) {
  DeviceInfo device;
  device.name = "NVIDIA H200";
  return store.begin_sweep("bench", "", "", device, "");
}

// Adds trials as an import does, many in one transaction. It does so in portions, so that the peak
// memory is that of the queries.
void fill(Store& store, std::int64_t num_trials) {
  constexpr std::size_t kPortion = 5000;
  Recording recording;
  recording.sweep = "bench";
  recording.device.name = "NVIDIA H200";
  recording.recorded_at = "2026-11-21";
  for (std::int64_t i = 0; i < num_trials; ++i) {
    recording.trials.push_back(record_of(key_of(i)));
    if (recording.trials.size() < kPortion && i + 1 < num_trials) continue;
    store.import(recording);
    recording.trials.clear();
  }
}

void claim_and_finish(benchmark::State& state) {
  const BenchFile file;
  Store store = Store::open(file.path());
  const std::int64_t sweep = begin(store);
  fill(store, state.range(0));
  std::int64_t next = state.range(0);
  for (auto _ : state) {
    const TrialKey key = key_of(next++);
    benchmark::DoNotOptimize(store.claim(sweep, key));
    store.finish(sweep, record_of(key));
  }
}
BENCHMARK(claim_and_finish)->Arg(0)->Arg(100'000)->Iterations(2000)->Unit(benchmark::kMicrosecond);

void claim_of_a_done_trial(benchmark::State& state) {
  const BenchFile file;
  Store store = Store::open(file.path());
  const std::int64_t sweep = begin(store);
  constexpr std::int64_t kTrials = 1000;
  for (std::int64_t i = 0; i < kTrials; ++i) store.finish(sweep, record_of(key_of(i)));
  std::int64_t next = 0;
  for (auto _ : state) benchmark::DoNotOptimize(store.claim(sweep, key_of(next++ % kTrials)));
}
BENCHMARK(claim_of_a_done_trial)->Unit(benchmark::kMicrosecond);

void report_memory(benchmark::State& state) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

// What a verb does with a database of many trials.
template <class Verb>
void read_database(benchmark::State& state, Verb verb, std::int64_t num_trials = kMany) {
  const BenchFile file;
  {
    Store store = Store::open(file.path());
    fill(store, num_trials);
    store.end_sweep(begin(store), "done");
  }
  for (auto _ : state) benchmark::DoNotOptimize(verb(Store::open_readonly(file.path())));
  report_memory(state);
}

void best(benchmark::State& state) {
  read_database(
      state,
      [](const Store& store) {
        return best_text(tuned_tables(store.results({}, TunedTrials()), Screened::show), {});
      },
      state.range(0));
}
BENCHMARK(best)->Arg(kMany)->Arg(10 * kMany)->Iterations(1)->Unit(benchmark::kMillisecond);

void report(benchmark::State& state) {
  read_database(
      state,
      [](const Store& store) {
        PageData page([](const DeviceInfo&, const TunedRow&) { return KernelNow(); },
                      [](const DeviceInfo&) { return std::optional<Ceilings>(); },
                      [](const TrialRow&) { return Figures(); },
                      [](const TrialRow&, const std::string&) { return CodeCounts(); },
                      [](const TrialRow&, const std::string&) {});
        page.add("bench", store.results({}, [&](const TrialRow& row, const Results& results) {
          return page.take(row, results);
        }));
        return page_html(page.json({}));
      },
      state.range(0));
}
BENCHMARK(report)->Arg(kMany)->Arg(10 * kMany)->Iterations(1)->Unit(benchmark::kMillisecond);

void open_database(benchmark::State& state) {
  const BenchFile file;
  {
    Store store = Store::open(file.path());
    fill(store, state.range(0));
  }
  for (auto _ : state) benchmark::DoNotOptimize(Store::open(file.path()));
}
BENCHMARK(open_database)->Arg(kMany)->Arg(10 * kMany)->Iterations(1)->Unit(benchmark::kMillisecond);

void show(benchmark::State& state) {
  read_database(state, [](const Store& store) { return counts_text(store.trials({})); });
}
BENCHMARK(show)->Iterations(1)->Unit(benchmark::kMillisecond);

void show_times(benchmark::State& state) {
  read_database(state, [](const Store& store) { return times_text(store.trials({}), 20); });
}
BENCHMARK(show_times)->Iterations(1)->Unit(benchmark::kMillisecond);

void import_from(benchmark::State& state, const BenchFile& source) {
  for (auto _ : state) {
    const BenchFile file;
    Store::open(file.path()).import(read_portions(source.path()));
  }
  report_memory(state);
}

void import_recording(benchmark::State& state) {
  const BenchFile source(".jsonl");
  {
    Recording recording;
    recording.sweep = "bench";
    recording.device.name = "NVIDIA H200";
    recording.recorded_at = "2026-11-21";
    for (std::int64_t i = 0; i < state.range(0); ++i) {
      recording.trials.push_back(record_of(key_of(i)));
    }
    write_recording(recording, source.path());
  }
  import_from(state, source);
}
BENCHMARK(import_recording)
    ->Arg(kMany)
    ->Arg(10 * kMany)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

void import_cachefile(benchmark::State& state) {
  const BenchFile source(".json");
  std::ofstream out(source.path());
  out << R"({"device_name": "NVIDIA H200", "kernel_name": "k", "problem_size": 4096, )"
      << R"("tune_params_keys": ["A", "B"], "cache": {)";
  for (std::int64_t i = 0; i < kMany; ++i) {
    out << (i == 0 ? "" : ",\n")
        << fmt::format(R"("{0},1": {{"A": {0}, "B": 1, "time": 1.5, "times": [1.5, 1.6, 1.4], )"
                       R"("compile_time": 123.4, "timestamp": "2026-01-02 03:04:05.678+00:00"}})",
                       i);
  }
  out << "}}\n";
  out.close();
  import_from(state, source);
}
BENCHMARK(import_cachefile)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace assay

BENCHMARK_MAIN();
