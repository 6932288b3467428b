#include "emulator/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/cubin_info.h"

namespace assay::emulator {
namespace {

// For the smoke problems of kernels; pages that nobody touches cost nothing.
constexpr std::size_t kMemoryBytes = std::size_t{8} << 30;
constexpr unsigned kGridRows = 65535;
constexpr int kSmBlocks = 32, kSmRegisters = 65536, kRegistersPerWarp = 256;
constexpr std::size_t kSmSharedBytes = 228 << 10, kReservedBytes = 1024;  // the latter of a block

}  // namespace

std::string_view machine_code_of(const void* image) {
  const auto* const file = static_cast<const char*>(image);
  return {file, cubin_bytes(file)};
}

std::string_view ptx_of(const void* image) {
  return static_cast<const char*>(image) + machine_code_of(image).size();
}

Gpu& Gpu::get() {
  static Gpu gpu;
  return gpu;
}

Gpu::Gpu() : info_(nominal_device("90a")), memory_(kMemoryBytes) {
  info_.name = "emulated " + info_.name;
  info_.memory_bytes = memory_.capacity_bytes();
}

void Gpu::fail(CUresult status, std::string finding) {
  if (status_ != CUDA_SUCCESS) return;
  status_ = status;
  finding_ = std::move(finding);
}

CUresult Gpu::load(const void* image, LoadedModule** module) {
  if (status_ != CUDA_SUCCESS) return status_;
  const std::string_view ptx = ptx_of(image);
  if (ptx.empty()) {
    fail(CUDA_ERROR_INVALID_IMAGE, "machine code without its PTX, which the emulator runs");
    return status_;
  }
  try {
    auto loaded = std::make_unique<LoadedModule>(
        LoadedModule{emulator::load(ptx), kernel_limits_of(machine_code_of(image))});
    for (const auto& [name, variable] : loaded->module.variables) {
      // In whole words, as the judge hashes them.
      const std::uint64_t bytes = (variable.size_bytes + 7) / 8 * 8;
      memory_.add({variable.address(), variable.address() + bytes});
    }
    for (const Program& program : loaded->module.kernels) {
      loaded->kernels[program.kernel->name] = {loaded.get(), &program};
    }
    left_local_.clear();
    *module = loaded.get();
    modules_[*module] = std::move(loaded);
    return CUDA_SUCCESS;
  } catch (const UsageError& error) {
    fail(facts_of(FindingKind::unsupported).error, error.what());
    return status_;
  }
}

void Gpu::unload(LoadedModule* module) {
  const auto found = modules_.find(module);
  if (found == modules_.end()) return;
  for (const auto& [name, variable] : module->module.variables) {
    memory_.remove(variable.address());
  }
  modules_.erase(found);
}

int Gpu::blocks_of_sm(const LoadedKernel& kernel, int block_threads,
                      std::size_t dynamic_bytes) const {
  const std::size_t bytes = kernel.program->shared_bytes + dynamic_bytes + kReservedBytes;
  const int blocks = std::min({kSmBlocks, kSmThreads / std::max(block_threads, 1),
                               static_cast<int>(kSmSharedBytes / bytes)});
  const auto limits = kernel.owner->limits.find(kernel.program->kernel->name);
  if (limits == kernel.owner->limits.end() || limits->second.registers == 0) return blocks;
  const int of_warp = (32 * limits->second.registers + kRegistersPerWarp - 1) / kRegistersPerWarp *
                      kRegistersPerWarp;
  return std::min(blocks, kSmRegisters / (of_warp * ((block_threads + 31) / 32)));
}

CUresult Gpu::launch(const CUlaunchConfig& config, LoadedKernel& kernel, void** arguments) {
  if (status_ != CUDA_SUCCESS) return status_;
  const Program& program = *kernel.program;
  LaunchShape shape{{config.gridDimX, config.gridDimY, config.gridDimZ},
                    {config.blockDimX, config.blockDimY, config.blockDimZ}};
  shape.dynamic_shared_bytes = config.sharedMemBytes;
  if (program.kernel->cluster[0] > 0) shape.cluster = program.kernel->cluster;
  bool is_cooperative = false;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttributeValue& value = config.attrs[i].value;
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      shape.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
    } else if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
      is_cooperative = value.cooperative != 0;
    }
  }
  if (volume(shape.cluster) > kernel.most_cluster_blocks) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  try {
    check_launch(program, shape);
  } catch (const UsageError&) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (shape.grid[0] > 0x7fffffffu || shape.grid[1] > kGridRows || shape.grid[2] > kGridRows ||
      shape.block[2] > 64 || config.sharedMemBytes > kernel.most_dynamic_bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (is_cooperative) {
    const int fit =
        blocks_of_sm(kernel, static_cast<int>(volume(shape.block)), config.sharedMemBytes);
    if (volume(shape.grid) > static_cast<std::uint64_t>(info_.sm_count * fit)) {
      return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    }
    if (grid_workspace_ == 0) grid_workspace_ = memory_.allocate(2 * sizeof(std::uint32_t));
    if (grid_workspace_ == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    shape.grid_workspace = grid_workspace_;
    std::memset(reinterpret_cast<void*>(grid_workspace_), 0, 2 * sizeof(std::uint32_t));
  }

  std::vector<std::byte> parameters(program.parameter_bytes);
  for (std::size_t i = 0; i < program.parameter_offsets.size(); ++i) {
    std::memcpy(parameters.data() + program.parameter_offsets[i], arguments[i],
                program.kernel->variables[i].size_bytes);
  }
  MachineOptions options;
  options.seed = ++num_launches_;
  options.left_local = &left_local_;
  options.threads = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
  try {
    const LaunchOutcome outcome = emulator::run(kernel.owner->module, kernel.program->kernel->name,
                                                shape, parameters, memory_, options);
    if (outcome.ok) return CUDA_SUCCESS;
    const LaunchFinding& first = outcome.findings.front();
    std::string text = first.description();
    if (const std::size_t more = outcome.findings.size() - 1; more > 0) {
      text += fmt::format("; and {} more like it or others", more);
    }
    fail(facts_of(first.kind).error, std::move(text));
  } catch (const UsageError& error) {
    fail(facts_of(FindingKind::unsupported).error, error.what());
  }
  return CUDA_SUCCESS;
}

}  // namespace assay::emulator
