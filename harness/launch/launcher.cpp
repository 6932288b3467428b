#include "launch/launcher.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "base/cubin_info.h"
#include "launch/argument_values.h"
#include "launch/failure.h"

namespace assay {
namespace {

unsigned extent(std::int64_t value, const char* what, const LaunchPlan& plan) {
  if (value < 1 || !std::in_range<unsigned>(value)) {
    throw refused(fmt::format("launch of {}: a {} of {} is outside 1..{}", plan.entry, what, value,
                              std::numeric_limits<unsigned>::max()));
  }
  return static_cast<unsigned>(value);
}

const std::string& symbol_of(const LaunchPlan& plan) {
  return plan.symbol.empty() ? plan.entry : plan.symbol;
}

}  // namespace

Launcher::Launcher(const Driver& driver, const Plan& plan, const std::string& cubin,
                   const AddressOf& address_of, std::shared_ptr<const Module> loaded)
    : driver_(&driver),
      module_(loaded ? std::move(loaded)
                     : std::make_shared<const Module>(load_module(driver, cubin))) {
  bind(driver, plan, cubin, address_of);
  std::map<std::string, std::int64_t> most_smem_bytes;  // the attribute belongs to the entry
  for (const auto* launches : {&plan.launches, &plan.prepare}) {
    for (const LaunchPlan& launch : *launches) {
      std::int64_t& most = most_smem_bytes[symbol_of(launch)];
      most = std::max(most, launch.smem_bytes);
    }
  }
  const auto add = [&](const std::vector<LaunchPlan>& plans, std::vector<Launch>& launches) {
    for (const LaunchPlan& launch : plans) {
      launches.push_back(set_up(launch, most_smem_bytes[symbol_of(launch)], launches.empty()));
    }
  };
  add(plan.launches, launches_);
  add(plan.prepare, preparing_);
}

void Launcher::bind(const Driver& driver, const Plan& plan, const std::string& cubin,
                    const AddressOf& address_of) {
  slots_.assign(plan.args.size(), Slots(1));
  for (std::size_t i = 0; i < plan.args.size(); ++i) {
    void* slot = slots_[i].front().bytes;
    if (const auto* scalar = std::get_if<ScalarPlan>(&plan.args[i])) {
      write_scalar(*scalar, slot);
    } else if (const auto* map = std::get_if<TensorMapPlan>(&plan.args[i])) {
      if (map->box.empty()) continue;  // no descriptor: the argument stays zero
      write_tensor_map(driver, *map, *plan.find_buffer(map->of), address_of(map->of), slot);
    } else if (const auto* given = std::get_if<BufferPlan>(&plan.args[i])) {
      const BufferPlan& buffer = *given;
      const CUdeviceptr data = address_of(buffer.name);
      std::memcpy(slot, &data, sizeof data);
      if (buffer.texture) {
        textures_.push_back(make_texture(driver, buffer, data));
        const CUtexObject object = textures_.back().get();
        std::memcpy(slot, &object, sizeof object);
      }
      const auto bytes = static_cast<std::size_t>(buffer.bytes());
      const auto zeroed = static_cast<std::size_t>(buffer.zeroed * size_bytes(buffer.dtype));
      if (zeroed > 0) memsets_.push_back({data, zeroed});
      if (!buffer.copy_of.empty()) copies_.push_back({data, address_of(buffer.copy_of), bytes});
      if (!buffer.symbol.empty()) symbols_.push_back({find_symbol(buffer, cubin), data, bytes});
    }
  }
  for (std::size_t i = 0; i < plan.args.size(); ++i) pack(plan, i);
}

/// Copies the members of a struct into its slots. Structs among them stand ahead of it.
void Launcher::pack(const Plan& plan, std::size_t place) {
  const auto* packed = std::get_if<StructPlan>(&plan.args[place]);
  if (packed == nullptr) return;
  const auto bytes = static_cast<std::size_t>(layout_of(plan, place).bytes);
  slots_[place].resize((bytes + sizeof(Slot) - 1) / sizeof(Slot));
  StructLayout layout;
  for (const std::size_t member : packed->members) {
    const Layout of_member = layout_of(plan, member);
    std::memcpy(slots_[place].front().bytes + layout.add(of_member), slots_[member].front().bytes,
                static_cast<std::size_t>(of_member.bytes));
  }
}

void Launcher::set(const ScalarPlan& scalar, std::size_t place) {
  write_scalar(scalar, slots_.at(place).front().bytes);
}

CUdeviceptr Launcher::find_symbol(const BufferPlan& buffer, const std::string& cubin) const {
  CUdeviceptr data = 0;
  std::size_t bytes = 0;
  const std::optional<Variable> variable = find_variable(cubin, buffer.symbol);
  const std::string& symbol = variable ? variable->symbol : buffer.symbol;
  const CUresult found = driver_->cuModuleGetGlobal(&data, &bytes, module_->get(), symbol.c_str());
  if (found == CUDA_ERROR_NOT_FOUND) {
    throw refused(fmt::format("the compiled kernel has no variable {}", buffer.symbol));
  }
  driver_->check(found, "cuModuleGetGlobal");
  if (bytes < static_cast<std::size_t>(buffer.bytes())) {
    throw refused(fmt::format("{} has {} bytes, but the variable {} has {}", buffer.name,
                              buffer.bytes(), buffer.symbol, bytes));
  }
  return data;
}

Launcher::Launch Launcher::set_up(const LaunchPlan& plan, std::int64_t most_smem_bytes,
                                  bool is_first) {
  Launch launch;
  for (const std::size_t arg : plan.args) launch.parameters.push_back(slots_.at(arg).data());
  const CUresult found =
      driver_->cuModuleGetFunction(&launch.function, module_->get(), symbol_of(plan).c_str());
  if (found == CUDA_ERROR_NOT_FOUND) {
    throw Failure(Status::runtime, "missing_entry",
                  fmt::format("the compiled kernel has no entry {}", plan.entry));
  }
  driver_->check(found, "cuModuleGetFunction");

  CUlaunchConfig& config = launch.config;
  config.gridDimX = extent(plan.grid[0], "grid", plan);
  config.gridDimY = extent(plan.grid[1], "grid", plan);
  config.gridDimZ = extent(plan.grid[2], "grid", plan);
  config.blockDimX = extent(plan.block[0], "block", plan);
  config.blockDimY = extent(plan.block[1], "block", plan);
  config.blockDimZ = extent(plan.block[2], "block", plan);
  launch.call =
      fmt::format("launch of {}, grid [{}], block [{}], {} bytes of shared memory", plan.entry,
                  fmt::join(plan.grid, ","), fmt::join(plan.block, ","), plan.smem_bytes);
  if (plan.smem_bytes < 0 || !std::in_range<int>(most_smem_bytes)) {
    throw refused(launch.call + ": no such amount of shared memory");
  }
  config.sharedMemBytes = static_cast<unsigned>(plan.smem_bytes);
  if (most_smem_bytes > 0) {
    const CUresult result = driver_->cuFuncSetAttribute(
        launch.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        static_cast<int>(most_smem_bytes));
    if (result != CUDA_SUCCESS) driver_->fail(result, launch.call);
  }
  if (plan.carveout >= 0) {
    driver_->check(
        driver_->cuFuncSetAttribute(
            launch.function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, plan.carveout),
        "cuFuncSetAttribute");
  }

  const std::int64_t blocks = plan.cluster[0] * plan.cluster[1] * plan.cluster[2];
  if (blocks != 1) {
    launch.call += fmt::format(", cluster [{}]", fmt::join(plan.cluster, ","));
    CUlaunchAttribute& cluster = launch.attributes.emplace_back();
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = extent(plan.cluster[0], "cluster", plan);
    cluster.value.clusterDim.y = extent(plan.cluster[1], "cluster", plan);
    cluster.value.clusterDim.z = extent(plan.cluster[2], "cluster", plan);
    constexpr std::int64_t kPortableClusterBlocks = 8;
    if (blocks > kPortableClusterBlocks) {
      const CUresult result = driver_->cuFuncSetAttribute(
          launch.function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
      if (result != CUDA_SUCCESS) driver_->fail(result, launch.call);
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

void Launcher::write_symbols(CUstream stream) const {
  for (const DeviceCopy& copy : symbols_) {
    driver_->check(driver_->cuMemcpyDtoDAsync(copy.to, copy.from, copy.bytes, stream),
                   "cuMemcpyDtoDAsync");
  }
}

int Launcher::shared_sm_threads() const {
  int most_threads = 0;
  for (const Launch& launch : launches_) {
    const bool is_cluster =
        std::ranges::any_of(launch.attributes, [](const CUlaunchAttribute& attribute) {
          return attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        });
    if (is_cluster) continue;
    const CUlaunchConfig& config = launch.config;
    const auto threads = static_cast<int>(config.blockDimX * config.blockDimY * config.blockDimZ);
    int blocks = 0;
    driver_->check(driver_->cuOccupancyMaxActiveBlocksPerMultiprocessor(
                       &blocks, launch.function, threads, config.sharedMemBytes),
                   "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    if (blocks > 1) most_threads = std::max(most_threads, threads);
  }
  return most_threads;
}

void Launcher::enqueue(CUstream stream) const {
  for (const Memset& memset : memsets_) {
    driver_->check(driver_->cuMemsetD8Async(memset.data, 0, memset.bytes, stream),
                   "cuMemsetD8Async");
  }
  for (const DeviceCopy& copy : copies_) {
    driver_->check(driver_->cuMemcpyDtoDAsync(copy.to, copy.from, copy.bytes, stream),
                   "cuMemcpyDtoDAsync");
  }
  enqueue(launches_, stream);
}

void Launcher::enqueue(const std::vector<Launch>& launches, CUstream stream) const {
  for (const Launch& launch : launches) {
    CUlaunchConfig config = launch.config;
    config.hStream = stream;
    // The driver takes pointers to non-const attributes and parameters, but only reads them.
    config.attrs = const_cast<CUlaunchAttribute*>(launch.attributes.data());
    config.numAttrs = static_cast<unsigned>(launch.attributes.size());
    const CUresult result = driver_->cuLaunchKernelEx(
        &config, launch.function, const_cast<void**>(launch.parameters.data()), nullptr);
    if (result != CUDA_SUCCESS) driver_->fail(result, launch.call);
  }
}

}  // namespace assay
