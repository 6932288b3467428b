// `assay sweep FILE`: chooses the device, runs the pipeline, prints what came of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/device_info.h"
#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/emulated.h"
#include "cli/include_path.h"
#include "cli/sweep_summary.h"
#include "cli/sweep_target.h"
#include "cli/verbs.h"
#include "cli/verify.h"
#include "compile/nvrtc_compiler.h"
#include "judge/reference_shapes.h"
#include "report/entry_json.h"
#include "store/store.h"
#include "tuner/progress.h"
#include "tuner/tuner.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
/// Refuses anything but an integer of at least `low`, as a sweep's file does.
auto integer_from(std::int64_t low) {
  return [low](const std::string& text) {
    const auto value = number_of<std::int64_t>(text);
    if (value && *value >= low) return std::string();
    return fmt::format("expected an integer of at least {}, found \"{}\"", low, text);
  };
}

/// What is wrong with a number of seconds.
std::string check_seconds(const std::string& text) {
  const auto value = number_of<double>(text);
  if (value && std::isfinite(*value) && *value > 0) return "";
  return fmt::format("expected a positive number of seconds, found \"{}\"", text);
}

struct SweepOptions : KernelFolders {
  std::string file;
  std::string db = "results/assay.db";
  std::string device;
  std::string problem;
  std::string sizes;
  std::string shard;
  std::vector<std::string> objective;
  std::optional<double> budget_seconds;
  std::optional<std::int64_t> budget_configs;
  std::optional<std::uint64_t> seed;
  std::string arch;
  int threads = 0;
  bool no_cache = false;
  bool retry_failed = false;
  bool cold_start = false;
  std::string verify = "quick";
  bool json = false;
  std::optional<std::int64_t> sample;
};

class DeviceSweep {
 public:
  /// `line` is what stands ahead of its progress.
  DeviceSweep(Target target, const SweepOptions& options, const SweepSpec& sweep,
              Compiler& compiler, const std::vector<fs::path>& include_directories,
              std::shared_ptr<ProgressScreen> screen, std::string line)
      : target_(std::move(target)),
        options_(options),
        sweep_(sweep),
        store_(Store::open(options.db)),
        progress_(std::move(screen), std::move(line)),
        tuner_(sweep, *target_.device, compiler, store_, progress_,
               {include_directories, target_.arch,
                sweep_command_line(options.file, include_directories.front()),
                include_directories.front(), target_.provenance, target_.compile_only,
                options.retry_failed, options.cold_start}) {}

  Tuner& tuner() { return tuner_; }
  const DeviceInfo& info() const { return target_.device->info(); }
  /// The emulator runs a sample of the kernels of which the times are replayed.
  void run_sample(const std::vector<fs::path>& include_directories) {
    sample_ =
        run_quick_sample(sweep_, tuner_.report().total, include_directories, options_.threads);
  }
  const std::string& provenance() const { return target_.provenance; }
  bool has_tried() const { return tuner_.report().total > 0; }

  /// With `--json` adds the summary to `summaries`, else prints it. `error`: why it ended early.
  void tell(Json& summaries, const char* error) const {
    const SweepSummary summary{sweep_, info(), target_.provenance, target_.compile_only,
                               sample_.text};
    if (options_.json) {
      summaries.push_back(summary_json(summary, tuner_.report(), store_, error));
    } else {
      print_summary(summary, tuner_.report(), store_);
    }
  }
  int exit_code() const {
    const bool found = tuner_.report().counts.contains(
        {target_.compile_only ? Status::compiled : Status::correct, ""});
    return found && sample_.num_wrong == 0 ? kExitDone : kExitNo;
  }

 private:
  Target target_;
  const SweepOptions& options_;
  const SweepSpec& sweep_;
  Store store_;
  Progress progress_;
  Tuner tuner_;
  SampleResult sample_;
};

std::shared_ptr<ProgressScreen> screen_of(const SweepOptions& options) {
  return std::make_shared<ProgressScreen>(options.json ? ProgressScreen::Mode::silent
                                                       : ProgressScreen::detect());
}

/// Runs the sweep on one device. With `--json` its summary is added to `summaries`, else printed.
int run_on(Target target, const SweepOptions& options, const SweepSpec& sweep, Compiler& compiler,
           const std::vector<fs::path>& include_directories, Json& summaries) {
  check_reference_shapes(sweep, target.device->info());
  DeviceSweep device(std::move(target), options, sweep, compiler, include_directories,
                     screen_of(options), "");
  try {
    device.tuner().run();
    // The user expects kernels to run, and has not asked for a replay. Once is enough.
    const bool is_fallback = options.device.empty() && !device.provenance().empty();
    if (is_fallback && !options.json && device.tuner().report().measured > 0) {
      device.run_sample(include_directories);
    }
  } catch (const std::exception& error) {
    // What was measured is stored. Say so before the error ends the program.
    if (device.has_tried()) device.tell(summaries, error.what());
    throw;
  }
  device.tell(summaries, nullptr);
  return device.exit_code();
}

/// Runs the sweep on several GPUs. What one that failed has left and no other has done is an error
/// in the end.
int run_on_several(const std::vector<int>& gpus, const SweepOptions& options,
                   const SweepSpec& sweep, Compiler& compiler,
                   const std::vector<fs::path>& include_directories, Json& summaries) {
  const std::shared_ptr<ProgressScreen> screen = screen_of(options);
  std::vector<std::unique_ptr<DeviceSweep>> devices;
  std::vector<Tuner*> tuners;
  for (const int index : gpus) {
    devices.push_back(std::make_unique<DeviceSweep>(gpu_target(index, compiler), options, sweep,
                                                    compiler, include_directories, screen,
                                                    fmt::format("GPU {}: ", index)));
    tuners.push_back(&devices.back()->tuner());
  }
  const std::vector<FleetEnd> ends = run_side_by_side(tuners);
  screen->finish();
  int code = kExitNo;
  std::exception_ptr fatal;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    DeviceSweep& device = *devices[i];
    std::string error;
    if (ends[i].failure) {
      try {
        std::rethrow_exception(ends[i].failure);
      } catch (const std::exception& failure) {
        error = failure.what();
      }
      if (ends[i].work_is_left && !fatal) fatal = ends[i].failure;
      print_err("GPU {} stopped: {}{}\n", gpus[i], error,
                ends[i].work_is_left ? "" : "; the others have done its problems");
    }
    if (options.json || device.has_tried()) {
      if (!options.json) print_out("GPU {}, {}\n\n", gpus[i], device.info().uuid);
      device.tell(summaries, ends[i].failure ? error.c_str() : nullptr);
    }
    code = std::min(code, device.exit_code());
  }
  if (fatal) std::rethrow_exception(fatal);
  return code;
}

int run_on_all(const SweepOptions& options, Json& summaries) {
  const fs::path kernel_directory = kernel_folder_of_file(options.kernels, options.file);
  SweepSpec sweep = load_sweep(options.file, kernel_directory);
  if (!options.sizes.empty()) choose_logged_problems(options.sizes, sweep);
  if (!options.problem.empty()) choose_problems(options.problem, sweep);
  if (!options.shard.empty()) choose_shard(options.shard, sweep);
  if (options.budget_seconds) sweep.search.budget_seconds = options.budget_seconds;
  if (options.budget_configs) sweep.search.budget_configs = options.budget_configs;
  if (!options.objective.empty()) {
    sweep.rerank.objective = read_objective(options.objective, sweep.kernels);
  }
  if (options.seed) sweep.search.seed = *options.seed;
  if (!options.arch.empty() && options.device != "none" &&
      !is_tuner_file(replayed_file(options.device))) {
    throw UsageError("--arch goes with --device none; a device has its own");
  }

  const std::vector<fs::path> include_directories = include_path(kernel_directory, options.include);
  if (options.device == "emulate") {
    if (options.json) throw UsageError("--json: the emulator prints no JSON");
    if (!options.problem.empty() || !options.shard.empty() || options.verify == "full") {
      throw UsageError(
          "--device emulate runs kernels on their smoke problems, without --problem, --shard and "
          "--verify full");
    }
    SampleOptions sample;
    sample.count = static_cast<int>(options.sample.value_or(sample.count));
    sample.seed = sweep.search.seed;
    sample.threads = options.threads;
    return run_emulated(sweep, include_directories, sample);
  }
  if (options.sample) throw UsageError("--sample goes with --device emulate");
  const CacheFolder cache = cache_folder();
  NvrtcCompiler compiler({cache.path, options.threads, 60, !options.no_cache});
  for (const std::string& warning : {cache.warning, compiler.warning()}) {
    if (!warning.empty()) print_err("warning: {}\n", warning);
  }
  std::string no_gpu_reason;
  const std::vector<int> gpus = choose_gpus(options.device, no_gpu_reason);
  create_folder_of(options.db);
  if (gpus.empty()) {
    if (options.verify == "full") throw UsageError("--verify full: there is no GPU to verify on");
    // The folder that holds `kernels`, `sweeps` and `results`, seen from a kernel or sweep file.
    const fs::path project =
        fs::absolute(options.file).lexically_normal().parent_path().parent_path();
    return run_on(target_without_gpu(options.device, options.arch, project, sweep,
                                     include_directories, no_gpu_reason),
                  options, sweep, compiler, include_directories, summaries);
  }
  int worst = gpus.size() > 1
                  ? run_on_several(gpus, options, sweep, compiler, include_directories, summaries)
                  : run_on(gpu_target(gpus.front(), compiler), options, sweep, compiler,
                           include_directories, summaries);
  if (options.verify != "full") return worst;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    VerifyOptions verify;
    verify.gpu = gpus[i];
    verify.kernels = kernel_directory.string();
    verify.include = options.include;
    verify.json = options.json;
    verify.results.db = options.db;
    verify.results.sweep = sweep.name;
    verify.results.problem = options.problem;
    verify.missing = true;
    const VerifyReport report = verify_winners(verify);
    if (options.json) summaries[i]["verification"] = report.document;
    worst = std::max(worst, report.exit_code);
  }
  return worst;
}

int run_sweep(SweepOptions options) {
  options.file = here_or_shipped(options.file).string();
  Json summaries = Json::array();
  int code = kExitDone;
  try {
    code = run_on_all(options, summaries);
  } catch (const std::exception& error) {
    if (summaries.empty()) throw;
    write_out(document("sweep", {{"error", error.what()}, {"devices", summaries}}));
    std::throw_with_nested(Reported());
  }
  if (options.json) write_out(document("sweep", {{"error", nullptr}, {"devices", summaries}}));
  return code;
}

}  // namespace

void add_sweep(Command program) {
  auto [verb, options] = program.add_verb<SweepOptions>(
      "sweep", "compile, check, time and rank every configuration", run_sweep);
  verb.add_option(
          "FILE", options->file,
          "a sweep (sweeps/*.yaml), or a kernel (kernels/*.yaml) to try on its smoke problem")
      .required();
  verb.add_option("--db PATH [results/assay.db]", options->db,
                  "database to keep every trial in; made if it is missing");
  verb.add_option(
          "--device 0|1,2|all|none|emulate|replay:FILE", options->device,
          "GPUs by index; all of them; none, to compile only; emulate; or recorded trials\n"
          "emulate runs a sample of the configurations on the CPU, and times nothing.\n"
          "Several GPUs of one model share the problems.\n"
          "Default: the first GPU, or without one the recording in results/recorded, and a\n"
          "sample of the configurations on the CPU")
      .check([](const std::string& text) { return text.empty() ? "it is empty" : ""; });
  add_kernel_folders(verb, *options, "the folder kernels beside sweeps");
  verb.add_option("--sizes FILE", options->sizes,
                  "run the problems that programs with libassay logged: see docs/runtime.md");
  verb.add_option("--problem M=1,N=4096", options->problem,
                  "run only the problems with these sizes\n"
                  "With every dimension named, the sweep need not list the problem.");
  verb.add_option("--shard 3/8", options->shard,
                  "run only the third of eight shares of the problems, for eight machines\n"
                  "Join their databases with assay db merge.");
  verb.add_option("--objective OBJECTIVE", options->objective,
                  "what the winner is the best by; default: the sweep's, else time\n"
                  "time, energy (of a launch), edp (their product), or a metric of yours, such as\n"
                  "\"minimize time_ns * smem_bytes\", \"maximize flops / energy_j\", \"minimize "
                  "dram_read\"\n"
                  "Of several, the first decides who wins, and all make a Pareto list.");
  verb.add_option(
          "--budget-seconds SECONDS", options->budget_seconds,
          "start no more configurations after so long; those that may be fast are tried first")
      .check(check_seconds);
  verb.add_option("--budget-configs COUNT", options->budget_configs,
                  "try at most so many configurations of each kernel for each problem")
      .check(integer_from(1));
  verb.add_option("--seed NUMBER", options->seed,
                  "seed of the search; default: the sweep's, else 1")
      .check(integer_from(0));
  verb.add_option(
          "--sample COUNT", options->sample,
          "with --device emulate: how many configurations of each kernel to run; default: 3")
      .check(integer_from(1));
  verb.add_option("--arch " + known_archs("|"), options->arch,
                  "with --device none or a replay of another tuner: what to compile for");
  verb.add_option("--threads COUNT", options->threads,
                  "compiler threads; default: one for each core")
      .check(integer_from(1));
  verb.add_flag("--no-cache", options->no_cache, "compile every configuration anew");
  verb.add_flag("--retry-failed", options->retry_failed,
                "try again every stored trial that failed; what failed because the machine did is "
                "always tried again");
  verb.add_flag("--cold-start", options->cold_start,
                "do not begin with what the database knows to be fast for such problems");
  verb.add_option("--verify quick|full", options->verify,
                  "full: also run assay verify on new winners; default: quick")
      .one_of({"quick", "full"});
  verb.add_flag("--json", options->json,
                "print the summary as JSON, and no progress\n"
                "Of several GPUs: {\"error\": ..., \"devices\": [a summary each]}");
  verb.footer("example: assay sweep sweeps/gemm.yaml --problem M=4096 --budget-seconds 60");
}

}  // namespace assay
