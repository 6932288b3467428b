#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "broken_kernels.h"
#include "compile/nvrtc_compiler.h"
#include "cuda/device_query.h"
#include "cuda/driver.h"
#include "cuda/gpu_count.h"
#include "messages/requests.h"
#include "space/launched.h"
#include "space/plan.h"
#include "spec/entry.h"
#include "support/inputs.h"
#include "support/support_source.h"
#include "temp_folder.h"
#include "tuner/kernel_version.h"
#include "worker/trial_runner.h"

namespace assay::test {

/// Whether tests run on the emulator instead of the first GPU: with ASSAY_EMULATE=1.
inline bool is_emulated() { return std::getenv("ASSAY_EMULATE") != nullptr; }
inline int gpu_index() { return is_emulated() ? kEmulatorIndex : 0; }
inline Driver make_driver() { return is_emulated() ? Driver(Driver::Emulated()) : Driver(); }

/// Whether the test ends here, skipped: on the emulator, which lacks what the test needs of a GPU.
inline bool needs_a_gpu(const std::string& why) {
  if (is_emulated()) [&why] { GTEST_SKIP() << "needs a GPU: " << why; }();
  return is_emulated();
}

inline std::filesystem::path source_folder() { return ASSAY_SOURCE_DIR; }

/// The program that serves as the worker: whichever was built beside this test.
inline std::filesystem::path worker_program() {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const char* name : {"assay", "fake_cuda_worker"}) {
    if (std::filesystem::exists(folder / name)) return folder / name;
  }
  return folder / "assay";
}

/// Tests that need a GPU, or the emulator where they ask for no times: skipped, visibly, where
/// there is none.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (is_emulated()) return start_compiler();
    // Count the GPUs once, before any test makes a CUDA context in this process. Counting forks,
    // and CUDA would not start again in the child.
    static std::string reason;
    static const int num_gpus = count_gpus(reason);
    if (num_gpus == 0) GTEST_SKIP() << "no GPU: " << reason;
    start_compiler();
  }

  void start_compiler() {
    static const TempFolder cache;  // the harness's own kernels are compiled once, for all tests
    compiler_ = std::make_unique<NvrtcCompiler>(
        CompilerOptions{.cache_directory = cache.path(), .for_emulator = is_emulated()});
  }

  std::future<CompileResult> submit(const std::filesystem::path& source, const Config& macros,
                                    const DeviceInfo& info, std::vector<std::string> entries = {}) {
    return compiler_->submit(
        {source, {source_folder() / "kernels"}, macros, native_arch(info.cc), std::move(entries)});
  }
  std::future<CompileResult> submit(const KernelSpec& kernel, const Problem& problem,
                                    const Config& config, const DeviceInfo& info) {
    return compiler_->submit(compile_job(kernel, problem, config, info, native_arch(info.cc),
                                         {source_folder() / "kernels"}));
  }

  static void name_entries(Plan& plan, const CompileResult& compiled) {
    for (auto* launches : {&plan.launches, &plan.prepare}) {
      for (LaunchPlan& launch : *launches) launch.symbol = compiled.symbols.at(launch.entry);
    }
  }

  /// Compiles a kernel of the contract that is not the one to be judged.
  std::future<CompileResult> compile_own(const KernelSpec& kernel, const ReferenceKernelSpec& own,
                                         const Problem& problem, const DeviceInfo& info) {
    return compiler_->submit(own_compile_job(kernel, own, problem, info, native_arch(info.cc),
                                             {source_folder() / "kernels"}));
  }

  /// The kernels that make inputs, and those of the reference.
  void compile_own_kernels(const KernelSpec& kernel, const Problem& problem, Plan& plan,
                           const DeviceInfo& info) {
    const auto plans = own_kernels(plan);
    const auto specs = own_kernels(kernel);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const CompileResult own = compile_own(kernel, *specs[i], problem, info).get();
      ASSERT_TRUE(own.ok) << own.log;
      plans[i]->cubin_path = own.cubin_path.string();
      plans[i]->launch.symbol = own.symbols.at(plans[i]->launch.entry);
    }
  }

  std::filesystem::path support_cubin(const DeviceInfo& info) {
    const auto source = folder_ / "support.cu";
    std::ofstream(source) << support_source();
    const CompileResult result = submit(source, {}, info).get();
    EXPECT_TRUE(result.ok) << result.log;
    return result.cubin_path;
  }

  /// The harness's own kernels on the device, and the inputs that they make, without a trial.
  struct OwnKernels {
    explicit OwnKernels(GpuTest& test)
        : support(driver, stream.get(), read_file(test.support_cubin(info)), info.sm_count) {}

    template <typename T>
    std::vector<T> read(CUdeviceptr data, std::size_t count) const {
      std::vector<T> values(count);
      support.download(values.data(), data, count * sizeof(T));
      return values;
    }

    const Driver driver = make_driver();
    const Context context{driver, 0};
    const DeviceInfo info = query_device(driver, context.device());
    const Stream stream = make_stream(driver);
    const SupportKernels support;
    Inputs inputs{support};
  };

  /// A request for the smoke problem of a kernel with the first value of every parameter, except
  /// those in `chosen`.
  TrialRequest request_of(const KernelSpec& kernel, const DeviceInfo& info,
                          const Config& chosen = {}) {
    Config config;
    for (const ParamSpec& param : kernel.params) {
      config.emplace_back(param.name, param.values.front());
      for (const auto& [name, value] : chosen) {
        if (name == param.name) config.back().second = value;
      }
    }
    TrialRequest request;
    request.plan = make_plan(kernel, kernel.smoke, config, info);
    const CompileResult result = submit(kernel, kernel.smoke, config, info).get();
    EXPECT_TRUE(result.ok) << result.log;
    name_entries(request.plan, result);
    request.cubin_path = result.cubin_path;
    compile_own_kernels(kernel, kernel.smoke, request.plan, info);
    request.measure.max_seconds_per_config = 0.5;
    return request;
  }

  static KernelSpec broken_kernel(const std::string& name) {
    return load_kernel(broken_kernels() / (name + ".yaml"));
  }
  /// A kernel that is right.
  static KernelSpec small_vector_add() {
    KernelSpec kernel = shipped_kernel("vector_add");
    kernel.smoke = {{"N", 4003}};
    return kernel;
  }
  static KernelSpec shipped_kernel(const std::string& name) {
    return load_kernel(source_folder() / "kernels" / (name + ".yaml"));
  }

  TempFolder folder_;

 private:
  std::unique_ptr<Compiler> compiler_;
};

/// Tests that run trials in this process.
class RunnerTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    runner_ = std::make_unique<TrialRunner>(gpu_index());
    runner_->setup(support_cubin(runner_->info()), {});
  }

  /// One word of a contract at work: the kernel that uses it well, and the one with a mistake.
  static void expect_only_right_passes(const Outcome& right, const Outcome& wrong,
                                       const std::string& mistake = "mismatch") {
    EXPECT_EQ(right.status, Status::correct) << right.kind << ": " << right.message;
    EXPECT_EQ(wrong.status, Status::correctness) << wrong.message;
    EXPECT_EQ(wrong.kind, mistake) << wrong.message;
  }

  /// The kernel `word` of a contract: wrong where `mistake`. `own` is the source of ref.cu.
  TrialRequest request_of_word(const std::string& contract, const std::string& source,
                               const std::string& own, bool mistake) {
    folder_.write("word.cu", source);
    folder_.write("ref.cu", own);
    const auto path = folder_.write(
        "word.yaml", "kernel: word\nop: word\narch: [80]\nparams: {MISTAKE: [0, 1]}\n" + contract);
    TrialRequest request =
        request_of(load_kernel(path), runner_->info(), {{"MISTAKE", std::int64_t{mistake}}});
    request.measure.max_seconds_per_config = 0.02;
    return request;
  }

  /// Why each baseline of a contract does not count, by the name of its time: nothing if it does.
  /// The kernel of the contract never runs.
  std::map<std::string, std::string> failures_of(const KernelSpec& kernel) {
    const DeviceInfo& info = runner_->info();
    TrialRequest request = request_of(kernel, info);
    std::vector<std::string> names;
    for (const BaselineSpec& spec : kernel.baseline) {
      names.push_back(spec.name);
      if (spec.steps.empty()) continue;  // cuBLASLt's product
      BaselinePlan plan = make_baseline_plan(kernel, spec, request.plan, info);
      for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        if (!plan.steps[i].kernel) continue;
        ReferenceKernelPlan& own = *plan.steps[i].kernel;
        const CompileResult made =
            compile_own(kernel, *spec.steps[i].kernel, kernel.smoke, info).get();
        EXPECT_TRUE(made.ok) << made.log;
        own.cubin_path = made.cubin_path.string();
        own.launch.symbol = made.symbols.at(own.launch.entry);
      }
      request.plan.baselines.push_back(std::move(plan));
    }
    std::map<std::string, std::string> failures;
    for (const BaselineTiming& timing : runner_->run_baselines(request, names)) {
      failures[timing.name] = timing.failure;
      details_[timing.name] = timing.detail;
      EXPECT_EQ(timing.failure.empty(), timing.timing.median_ns > 500) << timing.name;
    }
    return failures;
  }

  std::unique_ptr<TrialRunner> runner_;
  std::map<std::string, std::string> details_;  // of the baselines
};

/// Of these tests, which ask for times, counters or libraries, the emulator has none.
class TimedTest : public RunnerTest {
 protected:
  void SetUp() override {
    if (needs_a_gpu("times, counters or cuBLAS")) return;
    RunnerTest::SetUp();
  }
};

}  // namespace assay::test
