// How long a tuned problem takes by libassay, with the timer of the sweep and a cold L2: by the
// tuner's own launcher, by assay_launch, and by a graph that captured assay_launch. All three must
// write the same bits. The inputs are those of the sweep: where tokens choose experts, say, they
// decide how much work there is. Usage, in the folder that has kernels/: launch_bench PACK OP
// NAME=VALUE,... Needs a GPU and NVRTC.
#include <fmt/format.h>

#include <algorithm>
#include <assay/assay.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/stats.h"
#include "compile/nvrtc_compiler.h"
#include "cuda/device_query.h"
#include "launch/launcher.h"
#include "messages/requests.h"
#include "pack/choice.h"
#include "support/inputs.h"
#include "support/support_source.h"
#include "timing/timer.h"
#include "tuner/kernel_version.h"

namespace assay {
namespace {

constexpr int kRounds = 201;

std::string support_cubin(NvrtcCompiler& compiler, const DeviceInfo& info) {
  const std::filesystem::path source = cache_directory() / "launch_bench_support.cu";
  write_file_atomic(source, support_source());
  const CompileResult made = compiler.submit({source, {}, {}, native_arch(info.cc)}).get();
  if (!made.ok) throw Error("the harness's own kernels do not compile: " + made.log);
  return read_file(made.cubin_path);
}

/// The sweep's plan, with the kernels that make inputs.
Plan plan_of_sweep(NvrtcCompiler& compiler, const Choice& choice, const Problem& problem,
                   const DeviceInfo& info) {
  const std::filesystem::path folder = "kernels";
  const KernelSpec kernel = load_kernel(folder / (choice.plan.kernel + ".yaml"));
  Plan plan = make_plan(kernel, problem, choice.row->config, info);
  const std::vector<ReferenceKernelPlan*> plans = own_kernels(plan);
  const std::vector<const ReferenceKernelSpec*> specs = own_kernels(kernel);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const CompileResult made = compiler
                                   .submit(own_compile_job(kernel, *specs[i], problem, info,
                                                           native_arch(info.cc), {folder}))
                                   .get();
    if (!made.ok) throw Error(specs[i]->source.string() + " does not compile: " + made.log);
    plans[i]->cubin_path = made.cubin_path.string();
    plans[i]->launch.symbol = made.symbols.at(plans[i]->launch.entry);
  }
  return plan;
}

using detail::check;

int run(const std::string& path, const std::string& op, const Problem& given) {
  const Driver driver;
  const Context context(driver, 0);
  CUdevice device = 0;
  driver.cuDeviceGet(&device, 0);
  const DeviceInfo info = query_gpu(driver, device);
  const Stream stream = make_stream(driver);
  NvrtcCompiler compiler({cache_directory(), 1});
  const SupportKernels support(driver, stream.get(), support_cubin(compiler, info), info.sm_count);
  Timer timer(support, info.l2_bytes);

  // What the sweep launched, and for what.
  const PackFile file(path);
  const Problem problem = complete_problem(file.pack(), op, given);
  const Choice choice = choose(file.pack(), op, problem, info, 16);
  const Plan sweep_plan = plan_of_sweep(compiler, choice, problem, info);
  Inputs inputs(support);

  // The library, as a program has it.
  assay_error error{};
  std::vector<assay_number> numbers;
  for (const auto& [name, number] : problem) numbers.push_back({name.c_str(), to_real(number)});
  const assay_request request{sizeof request, op.c_str(), numbers.data(), numbers.size(), 0, 0};
  assay_pack* opened = nullptr;
  check(assay_open(path.c_str(), &opened, &error), error);
  const std::unique_ptr<assay_pack, decltype(&assay_close)> pack(opened, assay_close);
  assay_plan* made = nullptr;
  check(assay_plan_create(opened, &request, &made, &error), error);
  TunedLaunch plan(made);
  std::vector<DeviceMemory> memory;
  const auto allocated = [&](std::size_t bytes) {
    return memory.emplace_back(allocate(driver, std::max<std::size_t>(bytes, 256))).get();
  };
  std::map<std::string, CUdeviceptr> addresses;
  std::vector<void*> arguments;
  std::vector<std::pair<CUdeviceptr, std::size_t>> outputs;
  for (const assay_argument& argument : plan.arguments()) {
    CUdeviceptr& data = addresses[argument.name];
    if (argument.role == ASSAY_IN) {
      const BufferPlan& input = *sweep_plan.find_buffer(argument.name);
      data = inputs.get(sweep_plan, input, TrialRequest().seed)->buffer.data;
    } else {
      data = allocated(argument.bytes);
      outputs.emplace_back(data, argument.bytes);
    }
    arguments.push_back(reinterpret_cast<void*>(data));
  }
  const CUdeviceptr workspace = allocated(plan.workspace_bytes());
  const CUdeviceptr prepared = allocated(plan.prepared_bytes());
  check(assay_prepare(plan.get(), stream.get(), arguments.data(), arguments.size(),
                      reinterpret_cast<void*>(prepared), &error),
        error);
  const auto launch = [&] {
    check(
        assay_launch(plan.get(), stream.get(), arguments.data(), arguments.size(),
                     reinterpret_cast<void*>(workspace), reinterpret_cast<void*>(prepared), &error),
        error);
  };
  launch();
  driver.cuStreamBeginCapture(stream.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  launch();
  CUgraph captured = nullptr;
  driver.cuStreamEndCapture(stream.get(), &captured);
  const Graph graph(driver, captured);
  CUgraphExec instance = nullptr;
  driver.cuGraphInstantiate(&instance, captured, 0);
  const GraphInstance executable(driver, instance);

  std::map<std::string, CUdeviceptr> scratch;
  const Launcher launcher(driver, choice.plan, file.code(*choice.code), [&](const auto& name) {
    const auto found = addresses.find(name);
    if (found != addresses.end()) return found->second;
    CUdeviceptr& own = scratch[name];
    if (own == 0) own = allocated(static_cast<std::size_t>(choice.plan.find_buffer(name)->bytes()));
    return own;
  });
  launcher.write_symbols(stream.get());
  launcher.prepare(stream.get());

  struct Way {
    const char* name;
    Work launch;
    std::vector<double> times_ns = {};
    std::string written = {};
  };
  Way ways[] = {
      {"the tuner's launcher", [&] { launcher.enqueue(stream.get()); }},
      {"assay_launch", launch},
      {"a graph of assay_launch", [&] { driver.cuGraphLaunch(executable.get(), stream.get()); }}};
  for (Way& way : ways) {
    for (const auto& [data, bytes] : outputs) {
      driver.cuMemsetD8Async(data, 0xff, bytes, stream.get());
    }
    way.launch();
    for (const auto& [data, bytes] : outputs) {
      std::string part(bytes, '\0');
      driver.cuMemcpyDtoHAsync(part.data(), data, bytes, stream.get());
      driver.cuStreamSynchronize(stream.get());
      way.written += part;
    }
  }
  for (int round = 0; round < kRounds; ++round) {  // in turn, so that all meet the same machine
    for (Way& way : ways) {
      way.times_ns.push_back(timer.sample({way.launch}, Preparation::cold).time_ns);
      Timer::rest(way.times_ns.back());
    }
  }
  const assay_how how = plan.how();
  fmt::print("{} {}\n{} {}\n", op, to_text(problem), how.kernel, how.configuration);
  fmt::print("{:<26}{:10.3f} us\n", "tuned, says the pack", how.time_ns * 1e-3);
  const double tuner_ns = median(ways[0].times_ns);
  bool same = true;
  for (Way& way : ways) {
    const double time_ns = median(way.times_ns);
    same = same && way.written == ways[0].written;
    fmt::print("{:<26}{:10.3f} us {:+7.2f} %{}\n", way.name, time_ns * 1e-3,
               100 * (time_ns / tuner_ns - 1),
               way.written == ways[0].written ? "" : "  writes other bits");
  }
  return same ? kExitDone : kExitMachine;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: launch_bench PACK OP NAME=VALUE,...\n");
    return assay::kExitUsage;
  }
  try {
    return assay::run(argv[1], argv[2], assay::parse_problem(argv[3]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "launch_bench: {}\n", error.what());
    return assay::kExitMachine;
  }
}
