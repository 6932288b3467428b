#include "launch/ready_launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "launch/failure.h"

namespace assay {
namespace {

/// Of a plan, whose sizes fit: space/plan_launches.cpp refuses others.
unsigned size(std::int64_t value) { return static_cast<unsigned>(value); }

const std::string& symbol_of(const LaunchPlan& plan) {
  return plan.symbol.empty() ? plan.entry : plan.symbol;
}

ReadyLaunch set_up(const Driver& driver, const Module& module, const LaunchPlan& plan,
                   std::int64_t most_smem_bytes, bool is_first) {
  ReadyLaunch launch;
  launch.args = plan.args;
  const CUresult found =
      driver.cuModuleGetFunction.result(&launch.function, module.get(), symbol_of(plan).c_str());
  if (found == CUDA_ERROR_NOT_FOUND) {
    throw Failure(Status::runtime, "missing_entry", "the compiled kernel has no entry {}",
                  plan.entry);
  }
  driver.check(found, "cuModuleGetFunction");

  CUlaunchConfig& config = launch.config;
  config.gridDimX = size(plan.grid[0]);
  config.gridDimY = size(plan.grid[1]);
  config.gridDimZ = size(plan.grid[2]);
  config.blockDimX = size(plan.block[0]);
  config.blockDimY = size(plan.block[1]);
  config.blockDimZ = size(plan.block[2]);
  launch.call =
      fmt::format("launch of {}, grid [{}], block [{}], {} bytes of shared memory", plan.entry,
                  fmt::join(plan.grid, ","), fmt::join(plan.block, ","), plan.smem_bytes);
  config.sharedMemBytes = size(plan.smem_bytes);
  // Others may launch the same function with more, so that the limit only rises. To ask for it also
  // loads the function: a driver that loads lazily would do so in the first launch.
  int limit_bytes = 0;
  driver.cuFuncGetAttribute(&limit_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                            launch.function);
  if (most_smem_bytes > limit_bytes) {
    const CUresult result = driver.cuFuncSetAttribute.result(
        launch.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        static_cast<int>(most_smem_bytes));
    if (result != CUDA_SUCCESS) driver.fail(result, launch.call);
  }
  if (plan.carveout >= 0) {
    driver.cuFuncSetAttribute(launch.function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                              plan.carveout);
  }

  const std::int64_t blocks = plan.cluster[0] * plan.cluster[1] * plan.cluster[2];
  if (blocks != 1) {
    launch.call += fmt::format(", cluster [{}]", fmt::join(plan.cluster, ","));
    CUlaunchAttribute& cluster = launch.attributes.emplace_back();
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = size(plan.cluster[0]);
    cluster.value.clusterDim.y = size(plan.cluster[1]);
    cluster.value.clusterDim.z = size(plan.cluster[2]);
    constexpr std::int64_t kPortableClusterBlocks = 8;
    if (blocks > kPortableClusterBlocks) {
      const CUresult result = driver.cuFuncSetAttribute.result(
          launch.function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
      if (result != CUDA_SUCCESS) driver.fail(result, launch.call);
    }
  }
  if (plan.cooperative) {
    launch.call += ", cooperative";
    CUlaunchAttribute& cooperative = launch.attributes.emplace_back();
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
  }
  // The first launch of a trial always waits for what is ahead of it. So what is timed does not
  // overlap with what is not.
  if (plan.early && !is_first) {
    CUlaunchAttribute& early = launch.attributes.emplace_back();
    early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    early.value.programmaticStreamSerializationAllowed = 1;
  }
  return launch;
}

}  // namespace

std::vector<ReadyLaunch> ready_launches(const Driver& driver, const Module& module,
                                        const Plan& plan, const std::vector<LaunchPlan>& launches) {
  std::map<std::string, std::int64_t> most_smem_bytes;  // the attribute belongs to the entry
  for (const auto* each : {&plan.launches, &plan.prepare}) {
    for (const LaunchPlan& launch : *each) {
      std::int64_t& most = most_smem_bytes[symbol_of(launch)];
      most = std::max(most, launch.smem_bytes);
    }
  }
  std::vector<ReadyLaunch> ready;
  for (const LaunchPlan& launch : launches) {
    ready.push_back(
        set_up(driver, module, launch, most_smem_bytes[symbol_of(launch)], ready.empty()));
  }
  return ready;
}

CUresult ReadyLaunch::enqueue(const Driver& driver, void** parameters, CUstream stream) const {
  CUlaunchConfig on_stream = config;
  on_stream.hStream = stream;
  // The driver takes a pointer to non-const attributes, but only reads them.
  on_stream.attrs = const_cast<CUlaunchAttribute*>(attributes.data());
  on_stream.numAttrs = static_cast<unsigned>(attributes.size());
  return driver.cuLaunchKernelEx.result(&on_stream, function, parameters, nullptr);
}

}  // namespace assay
