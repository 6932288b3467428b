#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>

#include "compile/nvrtc_compiler.h"
#include "cuda/gpu_count.h"
#include "space/plan.h"
#include "support/support_source.h"
#include "temp_folder.h"
#include "worker/trial_runner.h"

namespace assay::test {

inline std::filesystem::path source_folder() { return ASSAY_SOURCE_DIR; }

/// The program that serves as the worker: whichever was built beside this test.
inline std::filesystem::path worker_program() {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const char* name : {"assay", "fake_cuda_worker"}) {
    if (std::filesystem::exists(folder / name)) return folder / name;
  }
  return folder / "assay";
}

/// Tests that need a GPU: skipped, visibly, where there is none.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    // Count the GPUs once, before any test makes a CUDA context in this process. Counting forks,
    // and CUDA would not start again in the child.
    static std::string reason;
    static const int num_gpus = count_gpus(reason);
    if (num_gpus == 0) GTEST_SKIP() << "no GPU: " << reason;
    start_compiler();
  }

  void start_compiler() {
    compiler_ = std::make_unique<NvrtcCompiler>(CompilerOptions{scratch_.path(), 0, 60, true});
  }

  std::future<CompileResult> submit(const std::filesystem::path& source, const Config& config,
                                    const DeviceInfo& info) {
    return compiler_->submit({source, {source_folder() / "kernels"}, config, native_arch(info.cc)});
  }
  CompileResult compile(const std::filesystem::path& source, const Config& config,
                        const DeviceInfo& info) {
    return submit(source, config, info).get();
  }

  std::filesystem::path support_cubin(const DeviceInfo& info) {
    const auto source = scratch_.path() / "support.cu";
    std::ofstream(source) << support_source();
    const CompileResult result = compile(source, {}, info);
    EXPECT_TRUE(result.ok) << result.log;
    return result.cubin_path;
  }

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
    const CompileResult result = compile(kernel.source_path, config, info);
    EXPECT_TRUE(result.ok) << result.log;
    request.cubin_path = result.cubin_path;
    for (std::size_t i = 0; i < kernel.reference.size(); ++i) {
      if (!kernel.reference[i].kernel) continue;
      const CompileResult reference =
          compile(kernel.reference[i].kernel->source, sizes_of(kernel, i), info);
      EXPECT_TRUE(reference.ok) << reference.log;
      request.plan.reference[i].kernel->cubin_path = reference.cubin_path.string();
    }
    request.measure.max_seconds_per_config = 0.5;
    return request;
  }

  /// The sizes that a kernel of the reference gets as macros: those that are not its arguments.
  static Config sizes_of(const KernelSpec& kernel, std::size_t step) {
    Config sizes;
    for (const auto& [dim, size] : kernel.smoke) {
      const auto& args = kernel.reference[step].kernel->args;
      if (std::none_of(args.begin(), args.end(),
                       [&, &name = dim](const auto& arg) { return arg.name == name; })) {
        sizes.emplace_back(dim, size);
      }
    }
    return sizes;
  }

  static KernelSpec broken_kernel(const std::string& name) {
    return load_kernel(source_folder() / "harness/tests/kernels/broken" / (name + ".yaml"));
  }
  static KernelSpec shipped_kernel(const std::string& name) {
    return load_kernel(source_folder() / "kernels" / (name + ".yaml"));
  }

 private:
  TempFolder scratch_;
  std::unique_ptr<Compiler> compiler_;
};

}  // namespace assay::test
