// assay_bench: `assay bench` itself. Each winner of a run, and each baseline that was timed beside
// it, is a benchmark. One iteration is one median by our own protocol, so Google Benchmark's
// repetitions, filters, formats and tools mean what they always do.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/stats.h"
#include "base/terminal.h"
#include "cli/bench_options.h"
#include "cli/include_path.h"
#include "cli/remeasure.h"
#include "cuda/gpu_count.h"
#include "report/export.h"
#include "space/plan.h"
#include "spec/twins.h"
#include "tuner/kernel_version.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// How often each benchmark will be asked for its time; Google Benchmark does not say.
std::size_t repetitions_of(const std::vector<std::string>& arguments) {
  constexpr std::string_view kName = "--benchmark_repetitions=";
  std::size_t count = 1;
  for (const std::string& word : arguments) {
    if (!word.starts_with(kName)) continue;
    std::from_chars(word.data() + kName.size(), word.data() + word.size(), count);
  }
  return std::max<std::size_t>(count, 1);
}

struct Work {
  double flops = 0;
  double bytes = 0;
};

/// What one launch does, if the contract that says so is there as it was.
Work work_of(const RunResult& result, const fs::path& kernels) {
  if (!result.rank) return {};
  const RankEntry& best = result.winner();
  const auto kernel = find_kernel(kernels, best.kernel);
  if (!kernel || kernel->contract_hash != result.rank->version_of(best.kernel).contract_hash) {
    return {};
  }
  const Plan plan = make_plan(*kernel, result.problem, parse_config(best.config), result.device);
  return {static_cast<double>(plan.flops), static_cast<double>(plan.bytes)};
}

/// One time of a winner or of a baseline.
struct BenchTime {
  double median_ns = 0;
  double clock_mhz = 0;       // 0: not known
  double roofline_ratio = 0;  // 1.0 = 100 %; 0: not known
  std::string failure = {};   // why there is none
};

constexpr const char* kBest = "best";

const RankEntry* find(const RankRecord& rank, const std::string& entry) {
  for (const RankEntry& each : rank.entries) {
    if (entry == kBest ? each.winner : each.kernel.empty() && each.config == entry) return &each;
  }
  return nullptr;
}

/// Every `step`-th of the known values, from the `first` on; all of them if that leaves none.
std::vector<double> dealt(const std::vector<double>& values, std::size_t first, std::size_t step) {
  std::vector<double> taken;
  for (std::size_t i = first % step; i < values.size(); i += step) taken.push_back(values[i]);
  std::vector<double> known;
  for (const double value : taken.empty() ? values : taken) {
    if (value > 0) known.push_back(value);
  }
  return known;
}

BenchTime time_of(const RunResult& result, const std::string& entry, std::size_t repetition,
                  std::size_t num_repetitions) {
  if (!result.rank) {
    const std::string failure = result.failure();
    return {0, 0, 0, failure.empty() ? "there is no verdict: it was not re-ranked" : failure};
  }
  const RankEntry* found = find(*result.rank, entry);
  if (!found) return {0, 0, 0, entry + " was not measured"};
  if (!found->failure.empty()) return {0, 0, 0, found->failure};
  const std::vector<double> times = dealt(found->samples_ns, repetition, num_repetitions);
  const std::vector<double> clocks = dealt(found->clocks_mhz, repetition, num_repetitions);
  BenchTime time;
  time.median_ns = times.empty() ? found->median_ns : median(times);
  if (!clocks.empty()) time.clock_mhz = median(clocks);
  if (found->roofline_ns > 0) time.roofline_ratio = found->roofline_ns / time.median_ns;
  return time;
}

/// A result whose winner and baselines are benchmarks, each of which may be asked for several
/// times.
class BenchQuestion {
 public:
  /// With a `gpu`, each time is measured there; all entries of a question in the same rounds. Else
  /// the stored rounds are dealt out to `num_repetitions`.
  BenchQuestion(RunResult stored, Remeasurer* gpu, std::size_t num_repetitions)
      : stored_(std::move(stored)), gpu_(gpu), num_repetitions_(num_repetitions) {
    if (gpu_) obstacle_ = gpu_->obstacle(stored_);
  }

  const RunResult& stored() const { return stored_; }

  /// "best", and the baselines that were timed in the same rounds.
  std::vector<std::string> entries() const {
    std::vector<std::string> names{kBest};
    if (!stored_.rank) return names;
    for (const RankEntry& entry : stored_.rank->entries) {
      if (entry.kernel.empty()) names.push_back(entry.config);
    }
    std::sort(names.begin() + 1, names.end());
    return names;
  }

  /// The next time of an entry. Throws Error when the GPU is lost.
  BenchTime next(const std::string& entry) {
    const std::size_t repetition = num_asked_[entry]++;
    if (!gpu_) return time_of(stored_, entry, repetition, num_repetitions_);
    if (!stored_.rank) return time_of(stored_, entry, 0, 1);
    if (!obstacle_.empty()) {
      return {0, 0, 0, "not measured: " + obstacle_ + "; --replay shows the stored times"};
    }
    while (measured_.size() <= repetition) measured_.push_back(gpu_->measure(stored_));
    return time_of(measured_[repetition], entry, 0, 1);
  }

 private:
  RunResult stored_;
  Remeasurer* gpu_;
  std::string obstacle_;
  std::size_t num_repetitions_;
  std::map<std::string, std::size_t> num_asked_;  // by entry
  std::vector<RunResult> measured_;
};

class Suite {
 public:
  explicit Suite(std::vector<BenchQuestion> questions, const fs::path& kernels)
      : questions_(std::move(questions)) {
    std::set<std::string> devices;
    for (const BenchQuestion& question : questions_)
      devices.insert(question.stored().device.slug());
    for (BenchQuestion& question : questions_) {
      const RunResult& stored = question.stored();
      const Work work = work_of(stored, kernels);
      for (const std::string& entry : question.entries()) {
        std::string name = benchmark_name(stored.op, entry, stored.problem, stored.protocol);
        if (devices.size() > 1) name += '/' + stored.device.slug();
        benchmark::RegisterBenchmark(name.c_str(),
                                     [this, &question, entry, work](benchmark::State& state) {
                                       run(state, question, entry, work);
                                     })
            ->UseManualTime()
            ->Iterations(1)
            ->Unit(benchmark::kNanosecond);
      }
    }
  }

  /// What ended the measuring of one, such as a lost GPU.
  std::exception_ptr error() const { return error_; }
  bool has_failures() const { return has_failures_; }

 private:
  void run(benchmark::State& state, BenchQuestion& question, const std::string& entry,
           const Work& work) {
    BenchTime time;
    try {
      time = error_ ? BenchTime{0, 0, 0, "not measured"} : question.next(entry);
    } catch (...) {
      error_ = std::current_exception();
      time.failure = "not measured";
    }
    if (!time.failure.empty()) {
      has_failures_ = true;
      state.SkipWithError(printable_line(time.failure).c_str());
    }
    for (auto _ : state) state.SetIterationTime(time.median_ns / 1e9);
    if (!time.failure.empty()) return;
    const double seconds = time.median_ns / 1e9;
    if (work.flops > 0) state.counters["FLOP/s"] = work.flops / seconds;
    if (work.bytes > 0) state.counters["B/s"] = work.bytes / seconds;
    if (time.clock_mhz > 0) state.counters["MHz"] = time.clock_mhz;
    if (time.roofline_ratio > 0) state.counters["roofline"] = time.roofline_ratio;
    const RunResult& stored = question.stored();
    if (entry == kBest) {
      state.SetLabel(stored.winner().kernel + ' ' + stored.winner().config);
    }
  }

  std::vector<BenchQuestion> questions_;  // their places are known to Google Benchmark
  std::exception_ptr error_;
  bool has_failures_ = false;
};

void add_context(const BenchOptions& options, const Run& run, bool is_live,
                 const std::string& why_not) {
  std::set<std::string> devices;
  std::string newest;
  for (const RunResult& result : run.results) {
    devices.insert(result.device.name);
    newest = std::max(newest, result.finished_at);
  }
  const std::string names = fmt::format("{}", fmt::join(devices, ", "));
  benchmark::AddCustomContext("assay_device", names);
  benchmark::AddCustomContext("assay_run", options.db);
  benchmark::AddCustomContext(
      "assay_times",
      is_live ? "measured now; one iteration is one median"
              : fmt::format("replayed, nothing is measured now ({}): measured on {}, {}",
                            options.replay ? "--replay" : why_not, names, newest.substr(0, 10)));
}

int run_bench(const BenchOptions& options) {
  // First of all, since it may only print its help.
  std::vector<std::string> words = options.google;
  words.insert(words.begin(), "assay bench");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  benchmark::Initialize(&argc, argv.data());
  if (benchmark::ReportUnrecognizedArguments(argc, argv.data())) return kExitUsage;

  const Run run = load_run(options.db, options.filter);
  std::string why_not;
  std::optional<Remeasurer> gpu;
  if (!options.replay && count_gpus(why_not) > 0) {
    gpu.emplace(kernel_folder(options.kernels), options.include,
                fs::read_symlink("/proc/self/exe").parent_path() / "assay");
  }
  add_context(options, run, gpu.has_value(), why_not);
  std::vector<BenchQuestion> questions;
  for (const RunResult& result : run.results) {
    questions.emplace_back(result, gpu ? &*gpu : nullptr, repetitions_of(options.google));
  }
  const Suite suite(std::move(questions), kernel_folder(options.kernels));
  const std::size_t num_run = benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  check_out();
  if (suite.error()) std::rethrow_exception(suite.error());
  return num_run == 0 || suite.has_failures() ? kExitNo : kExitDone;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  try {
    assay::CommandLine command_line("the winners under Google Benchmark", "assay_bench",
                                    "assay_bench " ASSAY_VERSION);
    assay::add_bench(command_line.program(), assay::run_bench);
    return command_line.parse(argc, argv)();
  } catch (const std::exception& error) {
    assay::print_err("assay: {}\n", error.what());
    const bool is_mistake = dynamic_cast<const assay::UsageError*>(&error) != nullptr;
    return is_mistake ? assay::kExitUsage : assay::kExitMachine;
  }
}
