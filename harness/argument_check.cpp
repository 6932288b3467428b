#include "argument_check.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/cubin_info.h"
#include "base/nearest.h"
#include "spec/entry.h"

namespace assay {
namespace {

constexpr std::int64_t kPointerBytes = 8, kTensorMapBytes = 128;

/// The bytes that the argument `name` takes as a parameter. What is no argument of the contract is
/// a result of the reference, which is a buffer.
std::int64_t parameter_bytes(const KernelSpec& kernel, const std::string& name) {
  for (const ArgSpec& arg : kernel.args) {
    if (arg.name != name) continue;
    if (std::holds_alternative<TensorMapSpec>(arg.form)) return kTensorMapBytes;
    if (const auto* scalar = std::get_if<ScalarSpec>(&arg.form)) return size_bytes(scalar->dtype);
  }
  return kPointerBytes;
}

std::vector<std::int64_t> sizes_of(const KernelSpec& kernel, const LaunchSpec& launch) {
  std::vector<std::int64_t> sizes;
  if (!launch.args) {
    for (const ArgSpec& arg : kernel.args) {
      const auto* buffer = std::get_if<BufferSpec>(&arg.form);
      if (buffer && !buffer->symbol.empty()) continue;
      sizes.push_back(parameter_bytes(kernel, arg.name));
    }
    return sizes;
  }
  for (const LaunchArgSpec& arg : *launch.args) {
    sizes.push_back(arg.names.empty() ? size_bytes(arg.scalar.dtype)
                                      : parameter_bytes(kernel, arg.names.front()));
  }
  return sizes;
}

void check_sizes(const Location& where, const std::string& entry,
                 const std::vector<std::int64_t>& expected,
                 const std::vector<std::int64_t>& found) {
  if (expected == found) return;
  throw SpecError(where,
                  fmt::format("expected arguments of {} bytes, the parameters of {}, found {}",
                              fmt::join(expected, ", "), entry, fmt::join(found, ", ")));
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
  for (const auto& arg : reference.args) sizes.push_back(parameter_bytes(kernel, arg.name));
  check_sizes(reference.args_where, reference.entry, entries_of(cubin).at(symbol), sizes);
}

void check_constants(const KernelSpec& kernel, const Plan& plan, const std::string& cubin) {
  const auto constants = constants_of(cubin);
  for (const ArgSpec& arg : kernel.args) {
    const auto* buffer = std::get_if<BufferSpec>(&arg.form);
    if (!buffer || buffer->symbol.empty()) continue;
    const auto found = constants.find(buffer->symbol);
    if (found == constants.end()) {
      std::vector<std::string> names;
      for (const auto& [name, size] : constants) names.push_back(name);
      throw SpecError(arg.where,
                      fmt::format("expected a __constant__ variable of the source, found \"{}\"{}",
                                  buffer->symbol, suggestion(buffer->symbol, names)));
    }
    const std::int64_t bytes = plan.find_buffer(arg.name)->bytes();
    if (bytes > found->second) {
      throw PlanError(fmt::format("{} with {}: {} has {} bytes, but the variable {} has {}",
                                  kernel.name, to_text(plan.config), arg.name, bytes,
                                  buffer->symbol, found->second));
    }
  }
}

}  // namespace assay
