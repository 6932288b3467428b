#include "tuner/argument_check.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/c_layout.h"
#include "base/cubin_info.h"
#include "base/kernel_limits.h"
#include "base/nearest.h"
#include "inspect/occupancy.h"
#include "spec/entry.h"

namespace assay {
namespace {

Layout layout_of(const ScalarSpec& scalar) {
  return {size_bytes(scalar.dtype), size_bytes(scalar.dtype)};
}

/// How the argument `name` lies as a parameter. What is no argument of the contract is a result of
/// the reference, which is a buffer.
Layout layout_of(const KernelSpec& kernel, const std::string& name) {
  for (const ArgSpec& arg : kernel.args) {
    if (arg.name != name) continue;
    if (std::holds_alternative<TensorMapSpec>(arg.form)) return kTensorMapLayout;
    if (const auto* scalar = std::get_if<ScalarSpec>(&arg.form)) return layout_of(*scalar);
    const auto* packed = std::get_if<StructSpec>(&arg.form);
    if (packed == nullptr) break;
    StructLayout layout;
    for (const StructSpec::Member& member : packed->members) {
      layout.add(member.name.empty() ? layout_of(member.scalar) : layout_of(kernel, member.name));
    }
    return layout.layout();
  }
  return kPointerLayout;
}

std::vector<std::int64_t> sizes_of(const KernelSpec& kernel, const LaunchSpec& launch) {
  std::vector<std::int64_t> sizes;
  if (!launch.args) {
    for (const std::size_t i : passed_args(kernel)) {
      sizes.push_back(layout_of(kernel, kernel.args[i].name).bytes);
    }
    return sizes;
  }
  for (const LaunchArgSpec& arg : *launch.args) {
    sizes.push_back(arg.names.empty() ? size_bytes(arg.scalar.dtype)
                                      : layout_of(kernel, arg.names.front()).bytes);
  }
  return sizes;
}

void check_sizes(const Location& where, const std::string& entry,
                 const std::vector<std::int64_t>& expected,
                 const std::vector<std::int64_t>& found) {
  if (expected == found) return;
  const bool may_be_struct = !expected.empty() && expected.size() < found.size();
  throw SpecError(where, "expected arguments of {} bytes, the parameters of {}, found {}{}",
                  fmt::join(expected, ", "), entry, fmt::join(found, ", "),
                  may_be_struct ? "; a struct takes an argument {name: .., struct: [..]}" : "");
}

}  // namespace

void check_launch_arguments(const KernelSpec& kernel, const Config& config,
                            const std::map<std::string, std::string>& symbols,
                            const std::string& cubin) {
  const auto entries = entries_of(cubin);
  for (const LaunchSpec* each : all_launches(kernel)) {
    const LaunchSpec& launch = *each;
    const std::string entry = instantiate(launch.entry, config);
    const auto symbol = symbols.find(entry);
    if (symbol == symbols.end()) continue;
    check_sizes(launch.args_where, entry, entries.at(symbol->second), sizes_of(kernel, launch));
  }
}

void check_reference_arguments(const KernelSpec& kernel, const ReferenceKernelSpec& reference,
                               const std::string& symbol, const std::string& cubin) {
  std::vector<std::int64_t> sizes;
  for (const auto& names : reference.turns) sizes.push_back(layout_of(kernel, names.front()).bytes);
  if (sizes.empty()) {  // of a fill, which makes no passes
    for (const auto& arg : reference.args) sizes.push_back(layout_of(kernel, arg.name).bytes);
  }
  check_sizes(reference.args_where, reference.entry, entries_of(cubin).at(symbol), sizes);
}

void check_variables(const KernelSpec& kernel, const Plan& plan, const std::string& cubin) {
  for (const ArgSpec& arg : kernel.args) {
    const auto* buffer = std::get_if<BufferSpec>(&arg.form);
    if (!buffer || buffer->symbol.empty()) continue;
    const auto found = find_variable(cubin, buffer->symbol);
    if (!found) {
      std::vector<std::string> names;
      for (const Variable& variable : named_variables_of(cubin)) names.push_back(variable.name);
      throw SpecError(
          arg.where, "expected a __constant__ or __device__ variable of the source, found \"{}\"{}",
          buffer->symbol, suggestion(buffer->symbol, names));
    }
    const std::int64_t bytes = plan.find_buffer(arg.name)->bytes();
    if (bytes > found->bytes) {
      throw PlanError(fmt::format("{} has {} bytes, but the variable {} has {}; {} with {}",
                                  arg.name, bytes, buffer->symbol, found->bytes, kernel.name,
                                  to_text(plan.config)));
    }
  }
}

void check_cooperative(const Plan& plan, const std::string& cubin, const DeviceInfo& device) {
  const auto limits = kernel_limits_of(cubin);
  for (const auto* launches : {&plan.launches, &plan.prepare}) {
    for (const LaunchPlan& launch : *launches) {
      if (!launch.cooperative) continue;
      const std::int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
      const std::int64_t blocks = launch.grid[0] * launch.grid[1] * launch.grid[2];
      const auto found = limits.find(launch.symbol.empty() ? launch.entry : launch.symbol);
      const KernelLimits of = found == limits.end() ? KernelLimits() : found->second;
      const auto resident = occupancy_of(device.cc, threads, std::max(of.registers, 1),
                                         launch.smem_bytes + static_smem_bytes(of, device.cc));
      if (!resident || blocks <= std::int64_t{resident->blocks} * device.sm_count) continue;
      throw PlanError(
          fmt::format("the cooperative launch of {} has {} blocks, but only {} are resident at "
                      "once, which are {} on each of {} SMs by their {}; with {}",
                      launch.entry, blocks, std::int64_t{resident->blocks} * device.sm_count,
                      resident->blocks, device.sm_count, resident->limit, to_text(plan.config)));
    }
  }
}

}  // namespace assay
