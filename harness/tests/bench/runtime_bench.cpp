// What libassay costs, on the GPU at hand: to choose a plan, to open a pack, the first launch, and
// a launch beside the same launch by cuLaunchKernelEx or cublasLtMatmul alone. Usage: runtime_bench
// PACK OP NAME=VALUE,... The stand-in GPU shows what a choice costs, and has not the kernels of a
// pack.
#include <fmt/format.h>

#include <algorithm>
#include <assay/assay.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/stats.h"
#include "cuda/device_query.h"
#include "launch/argument_values.h"
#include "launch/launcher.h"
#include "pack/choice.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

using detail::check;

/// The median over batches of the time of one call. The GPU is waited for between batches, so that
/// no call waits for room in the stream's queue.
template <typename Call>
double median_ns(const Driver& driver, int batches, int calls, const Call& call) {
  std::vector<double> times;
  for (int batch = 0; batch < batches; ++batch) {
    driver.cuCtxSynchronize();
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    times.push_back(ns_since(begin) / calls);
  }
  driver.cuCtxSynchronize();
  return median(times);
}

struct Opened {
  assay_pack* pack = nullptr;
  assay_plan* plan = nullptr;
  std::vector<assay_number> numbers;
  assay_request request{};
};

int run(const std::string& path, const std::string& op, const Problem& problem) {
  const Driver driver;
  const Context context(driver, 0);
  assay_error error{};
  Opened own;
  for (const auto& [name, number] : problem) own.numbers.push_back({name.c_str(), to_real(number)});
  own.request = {sizeof own.request, op.c_str(), own.numbers.data(), own.numbers.size(), 0, 0};

  // The buffers that the plan asks for, from a pack of their own.
  check(assay_open(path.c_str(), &own.pack, &error), error);
  check(assay_plan_create(own.pack, &own.request, &own.plan, &error), error);
  std::vector<DeviceMemory> memory;
  std::map<std::string, CUdeviceptr> addresses;
  std::vector<void*> arguments;
  auto first = std::make_unique<TunedLaunch>(own.plan);
  for (const assay_argument& argument : first->arguments()) {
    memory.push_back(allocate(driver, argument.bytes));
    addresses[argument.name] = memory.back().get();
    arguments.push_back(reinterpret_cast<void*>(memory.back().get()));
  }
  const auto extra = [&](std::size_t bytes) {
    memory.push_back(allocate(driver, std::max<std::size_t>(bytes, 256)));
    return reinterpret_cast<void*>(memory.back().get());
  };
  void* const workspace = extra(first->workspace_bytes());
  void* const prepared = extra(first->prepared_bytes());
  const assay_how how = first->how();
  fmt::print("{} {}\n{} {}\n", op, to_text(problem), how.kernel, how.configuration);
  first.reset();
  constexpr int kPlans = 1000;
  std::vector<double> cold;
  const auto choose_plan = [&] {
    assay_plan* plan = nullptr;
    check(assay_plan_create(own.pack, &own.request, &plan, &error), error);
    assay_plan_release(plan);
  };
  for (int i = 0; i < kPlans; ++i) {
    own.numbers[0].value = to_real(problem[0].second) + i + 1;
    const Clock::time_point chosen = Clock::now();
    choose_plan();
    cold.push_back(ns_since(chosen));
  }
  own.numbers[0].value = to_real(problem[0].second);
  fmt::print("{:<52}{:10.3f} us\n", "choose a plan, cold", median(cold) * 1e-3);
  fmt::print("{:<52}{:10.3f} us\n", "choose a plan, cached",
             median_ns(driver, 100, 1000, choose_plan) * 1e-3);
  assay_close(own.pack);

  const auto launch = [&] {
    check(assay_launch(own.plan, nullptr, arguments.data(), arguments.size(), workspace, prepared,
                       &error),
          error);
  };
  driver.cuCtxSynchronize();
  const Clock::time_point begin = Clock::now();
  check(assay_open(path.c_str(), &own.pack, &error), error);
  const double open_ns = ns_since(begin);
  check(assay_plan_create(own.pack, &own.request, &own.plan, &error), error);
  const double plan_ns = ns_since(begin) - open_ns;
  check(assay_prepare(own.plan, nullptr, arguments.data(), arguments.size(), prepared, &error),
        error);
  launch();
  driver.cuCtxSynchronize();
  const double first_ns = ns_since(begin);
  fmt::print("{:<52}{:10.3f} ms\n", "open the pack", open_ns * 1e-6);
  fmt::print("{:<52}{:10.3f} ms\n", "first plan, with the query of the GPU", plan_ns * 1e-6);
  fmt::print("{:<52}{:10.3f} ms\n", "first launch, from opening the pack to its end",
             first_ns * 1e-6);

  // The same launches with their arguments set once.
  const PackFile file(path);
  CUdevice device = 0;
  driver.cuDeviceGet(&device, 0);
  const Choice choice = choose(file.pack(), op, complete_problem(file.pack(), op, problem),
                               query_gpu(driver, device), 16, Fallback::allowed);
  std::optional<Launcher> launcher;
  std::optional<CublasLt> cublas;
  std::optional<LtProduct> product;
  std::function<void()> raw;
  if (choice.match == Match::fallback) {
    cublas.emplace(toolkit_libraries());
    product.emplace(*cublas, product_shape(choice.plan, *choice.product));
    const auto& operands = choice.product->operands;
    raw = [&product, algorithm = product->algorithms().at(0).algo, workspace,
           a = addresses.at(operands.at("a")), b = addresses.at(operands.at("b")),
           out = addresses.at(operands.at("out"))] {
      product->enqueue(algorithm, a, b, out, reinterpret_cast<CUdeviceptr>(workspace),
                       LtProduct::kWorkspaceBytes, nullptr);
    };
  } else {
    launcher.emplace(driver, choice.plan, file.code(*choice.code), [&](const std::string& name) {
      const auto found = addresses.find(name);
      return found != addresses.end() ? found->second : reinterpret_cast<CUdeviceptr>(workspace);
    });
    raw = [&launcher] { launcher->enqueue(nullptr); };
  }
  constexpr int kBatches = 200, kCalls = 100;
  std::vector<double> raw_ns, own_ns;
  for (int round = 0; round < 5; ++round) {  // in turn, so that both meet the same machine
    raw_ns.push_back(median_ns(driver, kBatches, kCalls, raw));
    own_ns.push_back(median_ns(driver, kBatches, kCalls, launch));
  }
  fmt::print("{:<52}{:10.3f} us\n", "launch by cuLaunchKernelEx or cublasLtMatmul alone",
             median(raw_ns) * 1e-3);
  fmt::print("{:<52}{:10.3f} us\n", "launch by assay_launch", median(own_ns) * 1e-3);
  assay_plan_release(own.plan);
  assay_close(own.pack);
  return kExitDone;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: runtime_bench PACK OP NAME=VALUE,...\n");
    return assay::kExitUsage;
  }
  try {
    return assay::run(argv[1], argv[2], assay::parse_problem(argv[3]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "runtime_bench: {}\n", error.what());
    return assay::kExitMachine;
  }
}
