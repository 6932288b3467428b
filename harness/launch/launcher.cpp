#include "launch/launcher.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/cubin_info.h"
#include "launch/argument_values.h"
#include "launch/failure.h"

namespace assay {

Launcher::Launcher(const Driver& driver, const Plan& plan, const std::string& cubin,
                   const AddressOf& address_of, std::shared_ptr<const Module> loaded)
    : driver_(&driver),
      module_(loaded ? std::move(loaded)
                     : std::make_shared<const Module>(load_module(driver, cubin))) {
  bind(driver, plan, cubin, address_of);
  const auto add = [&](const std::vector<LaunchPlan>& plans, std::vector<Launch>& launches) {
    for (ReadyLaunch& ready : ready_launches(driver, *module_, plan, plans)) {
      std::vector<void*> parameters;
      for (const std::size_t arg : ready.args) parameters.push_back(slots_.at(arg).data());
      launches.push_back({std::move(ready), std::move(parameters)});
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
      const auto zeroed = static_cast<std::size_t>(size_bytes(buffer.dtype, buffer.zeroed));
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
  const CUresult found =
      driver_->cuModuleGetGlobal.result(&data, &bytes, module_->get(), symbol.c_str());
  if (found == CUDA_ERROR_NOT_FOUND) {
    throw refused("the compiled kernel has no variable {}", buffer.symbol);
  }
  driver_->check(found, "cuModuleGetGlobal");
  if (bytes < static_cast<std::size_t>(buffer.bytes())) {
    throw refused("{} has {} bytes, but the variable {} has {}", buffer.name, buffer.bytes(),
                  buffer.symbol, bytes);
  }
  return data;
}

void Launcher::write_symbols(CUstream stream) const {
  for (const DeviceCopy& copy : symbols_) {
    driver_->cuMemcpyDtoDAsync(copy.to, copy.from, copy.bytes, stream);
  }
}

bool Launcher::has_local_memory() const {
  return std::ranges::any_of(launches_, [&](const Launch& launch) {
    int bytes = 0;
    driver_->cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, launch.ready.function);
    return bytes > 0;
  });
}

int Launcher::shared_sm_threads() const {
  int most_threads = 0;
  for (const Launch& launch : launches_) {
    const bool is_cluster =
        std::ranges::any_of(launch.ready.attributes, [](const CUlaunchAttribute& attribute) {
          return attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        });
    if (is_cluster) continue;
    const CUlaunchConfig& config = launch.ready.config;
    const auto threads = static_cast<int>(config.blockDimX * config.blockDimY * config.blockDimZ);
    int blocks = 0;
    driver_->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, launch.ready.function, threads,
                                                         config.sharedMemBytes);
    if (blocks > 1) most_threads = std::max(most_threads, threads);
  }
  return most_threads;
}

void Launcher::enqueue(CUstream stream) const {
  for (const Memset& memset : memsets_) {
    driver_->cuMemsetD8Async(memset.data, 0, memset.bytes, stream);
  }
  for (const DeviceCopy& copy : copies_) {
    driver_->cuMemcpyDtoDAsync(copy.to, copy.from, copy.bytes, stream);
  }
  enqueue(launches_, stream);
}

void Launcher::enqueue(const std::vector<Launch>& launches, CUstream stream) const {
  for (const Launch& launch : launches) {
    // The driver takes pointers to non-const parameters, but only reads them.
    const CUresult result =
        launch.ready.enqueue(*driver_, const_cast<void**>(launch.parameters.data()), stream);
    if (result != CUDA_SUCCESS) driver_->fail(result, launch.ready.call);
  }
}

}  // namespace assay
