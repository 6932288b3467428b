#include "cli/emulated.h"

#include <fmt/format.h>

#include <chrono>
#include <future>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/find_named.h"
#include "base/terminal.h"
#include "cli/gpu_setup.h"
#include "compile/nvrtc_compiler.h"
#include "device/gpu_device.h"
#include "judge/reference_shapes.h"
#include "report/table.h"
#include "report/trials_view.h"
#include "space/small_problem.h"
#include "space/space.h"
#include "spec/twins.h"
#include "store/store.h"
#include "tuner/kernel_version.h"
#include "tuner/sweep_run.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// The emulator ends a launch that takes too many instructions; this is for what it does not see.
constexpr double kHangSeconds = 600;
constexpr double kCountSeconds = 1;
constexpr int kQuickCount = 6;  // of each kernel
constexpr double kQuickSeconds = 9;

struct Tally {
  int num_correct = 0, num_wrong = 0, num_not_run = 0;

  void add(const Outcome& outcome) {
    if (outcome.status == Status::correct) {
      ++num_correct;
    } else if (outcome.kind == "unsupported" || is_machine_fault(outcome.status, outcome.kind)) {
      ++num_not_run;
    } else {
      ++num_wrong;
    }
  }
};

std::string status_of(const Outcome& outcome) {
  // What the emulator does not know is no fault of the kernel.
  if (outcome.kind == "unsupported") return "emulator/unsupported";
  return status_text(outcome.status, outcome.kind);
}

std::string count_text(const Tally& tally, const std::string& num_configs) {
  const int num_run = tally.num_correct + tally.num_wrong;
  std::string text =
      fmt::format("{} of {} configurations were run on the emulator", num_run, num_configs);
  if (num_run > 0) {
    text += tally.num_wrong > 0 ? fmt::format(": {} wrong", tally.num_wrong) : ": all correct";
  }
  if (tally.num_not_run > 0) text += fmt::format(", {} could not be run", tally.num_not_run);
  return text;
}

/// How many configurations a kernel has for some problems.
std::string count_configs(const KernelSpec& kernel, const std::vector<Problem>& problems,
                          const DeviceInfo& device) {
  const double max_seconds = kCountSeconds / static_cast<double>(problems.size());
  Space::Size sum;
  for (const Problem& problem : problems) {
    const auto size = Space(kernel, problem, device).size(kMaxCountedSteps, max_seconds);
    sum.valid += size.valid;
    sum.whole = sum.whole && size.whole;
  }
  return (sum.whole ? "" : "more than ") + format_count(sum.valid);
}

struct Sampled {
  Config config;
  Problem problem;
  bool operator==(const Sampled&) const = default;
};

/// What a configuration that a sweep has for `problem` runs on: the kernel's smoke problem, or one
/// that is smaller. Nothing where the kernel allows the configuration neither. If `problem` is the
/// smoke problem, the configuration is run on it in any case: that says why it cannot be launched.
std::optional<Problem> problem_for(const Config& config, const KernelSpec& kernel,
                                   const Problem& problem, const DeviceInfo& device) {
  auto found = small_problem(with_values_of(config, kernel), problem, config, device);
  if (!found && problem == kernel.smoke) return problem;
  for (std::size_t i = 0; found && i < found->size(); ++i) {
    if (to_real((*found)[i].second) > to_real(kernel.smoke[i].second)) return std::nullopt;
  }
  return found;
}

/// Up to `count` configurations that a kernel of a sweep has for its problems, from one problem
/// after the other.
std::vector<Sampled> sample_of(const KernelSpec& narrowed, const std::vector<Problem>& problems,
                               const DeviceInfo& device, std::size_t count, std::uint64_t seed) {
  // What a sweep asks of a configuration, it asks on its own problems.
  const KernelSpec kernel = find_twin(narrowed.yaml_path, narrowed.name).value_or(narrowed);
  std::vector<std::vector<Config>> drawn(problems.size());
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const Space space(narrowed, problems[i], device);
    for (const auto& point : space.draw(count, seed)) drawn[i].push_back(space.config(point));
  }
  std::vector<Sampled> sample;
  for (std::size_t turn = 0; turn < count; ++turn) {
    for (std::size_t i = 0; i < problems.size() && sample.size() < count; ++i) {
      if (turn >= drawn[i].size()) continue;
      const Config& config = drawn[i][turn];
      const auto problem = problem_for(config, kernel, problems[i], device);
      if (!problem) continue;
      add_once(sample, Sampled{config, *problem});
    }
  }
  return sample;
}

/// The emulator and its compiler, ready to run configurations.
class EmulatorRun {
 public:
  EmulatorRun(const std::vector<fs::path>& include_directories, int num_threads)
      : compiler_({.cache_directory = cache_directory(),
                   .num_threads = num_threads,
                   .for_emulator = true}),
        lone_(emulator_, compiler_, store_,
              {include_directories, native_arch(emulator_.info().cc), "",
               include_directories.front()}) {
    set_up_emulator(emulator_, compiler_);
  }

  const DeviceInfo& device() const { return emulator_.info(); }

  void add(const KernelSpec& kernel) {
    lone_.run.versions[kernel.name] = version_of(kernel, lone_.run.options.include_directories);
  }

  std::future<CompileResult> compile(const KernelSpec& kernel, const Sampled& sampled) {
    check_reference_shapes(kernel, sampled.problem, device());
    return compiler_.submit(lone_.run.compile_job(kernel, sampled.problem, sampled.config));
  }

  /// Of a kernel that was added.
  Outcome run(const KernelSpec& kernel, const Sampled& sampled, const CompileResult& compiled) {
    const TrialKey key = lone_.run.key_of(kernel, sampled.problem, sampled.config);
    return lone_.run.try_config(kernel, key, compiled, std::nullopt).outcome;
  }

 private:
  NvrtcCompiler compiler_;
  GpuDevice emulator_{{kEmulatorIndex, {}, kHangSeconds}};
  Store store_ = Store::in_memory();
  LoneRun lone_;
};

/// The configuration, and its problem where that is not the smoke problem.
std::string text_of(const KernelSpec& kernel, const Sampled& sampled) {
  const std::string config = to_text(sampled.config);
  if (sampled.problem == kernel.smoke) return config;
  return fmt::format("{} on {}", config, to_text(sampled.problem));
}

/// Prints what becomes of each configuration.
Tally run_all(EmulatorRun& emulator, const KernelSpec& kernel, const std::vector<Sampled>& sample,
              const std::string& num_configs) {
  std::vector<std::future<CompileResult>> begun;
  for (const Sampled& sampled : sample) begun.push_back(emulator.compile(kernel, sampled));
  print_out("{} {}\n", kernel.name, to_text(kernel.smoke));
  Tally tally;
  std::string told;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const Outcome outcome = emulator.run(kernel, sample[i], begun[i].get());
    tally.add(outcome);
    const std::string status = fmt::format("{:<24}", status_of(outcome));
    const Style style = outcome.status == Status::correct ? Style::good : Style::failure;
    write_out(fmt::format("  {} {}\n", stdout_terminal().has_color ? styled(status, style) : status,
                          text_of(kernel, sample[i])));
    if (outcome.message.empty()) continue;
    print_out("    {}\n", outcome.message == told ? "as above" : outcome.message);
    told = outcome.message;
  }
  print_out("  {}\n", count_text(tally, num_configs));
  return tally;
}

void say_that_nothing_is_timed() {
  print_err("no GPU is used: the emulator runs kernels on the CPU. Nothing is timed or ranked.\n");
}

}  // namespace

int run_emulated(const SweepSpec& sweep, const std::vector<fs::path>& include_directories,
                 const SampleOptions& options) {
  EmulatorRun emulator(include_directories, options.threads);
  say_that_nothing_is_timed();
  const auto count = static_cast<std::size_t>(options.count);
  bool has_correct = false, all_right = true;
  for (const KernelSpec& kernel : sweep.kernels) {
    emulator.add(kernel);
    const Tally tally = run_all(
        emulator, kernel, sample_of(kernel, sweep.problems, emulator.device(), count, options.seed),
        count_configs(kernel, sweep.problems, emulator.device()));
    has_correct = has_correct || tally.num_correct > 0;
    // A sweep may leave a kernel nothing on the emulator's GPU.
    all_right =
        all_right && tally.num_wrong == 0 && (tally.num_correct > 0 || tally.num_not_run == 0);
  }
  return has_correct && all_right ? kExitDone : kExitNo;
}

int run_emulated(const KernelSpec& kernel, const Config& config,
                 const std::vector<fs::path>& include_directories, const SampleOptions& options) {
  EmulatorRun emulator(include_directories, options.threads);
  say_that_nothing_is_timed();
  emulator.add(kernel);
  const Tally tally = run_all(emulator, kernel, {{config, kernel.smoke}},
                              count_configs(kernel, {kernel.smoke}, emulator.device()));
  return tally.num_correct == 1 ? kExitDone : kExitNo;
}

SampleResult run_quick_sample(const SweepSpec& sweep, std::size_t num_trials,
                              const std::vector<fs::path>& include_directories, int num_threads) {
  const auto begin = std::chrono::steady_clock::now();
  EmulatorRun emulator(include_directories, num_threads);
  std::vector<std::vector<Sampled>> samples;
  for (const KernelSpec& kernel : sweep.kernels) {
    samples.push_back({});
    if (!runs_on(kernel, emulator.device().cc)) continue;
    emulator.add(kernel);
    samples.back() =
        sample_of(kernel, sweep.problems, emulator.device(), kQuickCount, sweep.search.seed);
  }
  // In turns, so that each kernel has its share of the time.
  struct Begun {
    const KernelSpec& kernel;
    const Sampled& sampled;
    std::future<CompileResult> compiled;
  };
  std::vector<Begun> begun;
  for (std::size_t turn = 0; turn < kQuickCount; ++turn) {
    for (std::size_t k = 0; k < samples.size(); ++k) {
      if (turn >= samples[k].size()) continue;
      const Sampled& sampled = samples[k][turn];
      begun.push_back({sweep.kernels[k], sampled, emulator.compile(sweep.kernels[k], sampled)});
    }
  }
  SampleResult result;
  Tally tally;
  for (auto& [kernel, sampled, compiled] : begun) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (passed.count() > kQuickSeconds) break;
    const Outcome outcome = emulator.run(kernel, sampled, compiled.get());
    tally.add(outcome);
    if (tally.num_wrong == result.num_wrong) continue;
    result.num_wrong = tally.num_wrong;
    result.text +=
        fmt::format("{} {}: {}\n", status_of(outcome), kernel.name, text_of(kernel, sampled));
    if (!outcome.message.empty()) result.text += fmt::format("  {}\n", outcome.message);
  }
  if (tally.num_correct + tally.num_wrong > 0) {
    result.text += count_text(tally, format_count(num_trials));
  }
  return result;
}

}  // namespace assay
