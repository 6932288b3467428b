#include "space/launched.h"

#include <fmt/format.h>

#include <algorithm>

#include "space/bindings.h"
#include "spec/entry.h"

namespace assay {
namespace {

bool never_runs(const LaunchSpec& launch, const Bindings& bindings) {
  if (!launch.when || launch.repeat) return false;  // `when` may ask which pass it is
  try {
    return bindings.eval(launch.when->expr) == 0;
  } catch (const EvalError&) {  // it depends on the problem
    return false;
  }
}

/// What is known of a configuration whatever the problem.
Bindings bind(const KernelSpec& kernel, const Config& config, const DeviceInfo& device) {
  Bindings bindings(kernel, device);
  for (const auto& [name, value] : config) {
    bindings.set(kernel.symbols.find(name), slot_value(kernel, value));
  }
  for (const LetSpec& let : kernel.lets) {
    bindings.set_let(kernel.symbols.find(let.name), let.value.expr);
  }
  return bindings;
}

}  // namespace

std::vector<std::string> launched_entries(const KernelSpec& kernel, const Config& config,
                                          const DeviceInfo& device) {
  const Bindings bindings = bind(kernel, config, device);
  std::vector<std::string> entries;
  for (const LaunchSpec* launch : all_launches(kernel)) {
    if (never_runs(*launch, bindings)) continue;
    std::string entry = instantiate(launch->entry, config);
    if (std::find(entries.begin(), entries.end(), entry) == entries.end()) {
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

std::int64_t max_registers(const KernelSpec& kernel, const Config& config,
                           const DeviceInfo& device) {
  if (!kernel.compile.maxrregcount) return 0;
  const ExprSpec& limit = *kernel.compile.maxrregcount;
  try {
    const std::int64_t value = bind(kernel, config, device).eval(limit.expr);
    if (value >= 1 && value <= 255) return value;
    throw SpecError(limit.where, fmt::format("expected a limit from 1 to 255, found {} with {}",
                                             value, to_text(config)));
  } catch (const EvalError& error) {
    throw SpecError(limit.where, fmt::format("{} with {}", error.what(), to_text(config)));
  }
}

Config macros_of(const KernelSpec& kernel, const Config& config) {
  std::vector<std::string> entries;
  for (const LaunchSpec* launch : all_launches(kernel)) entries.push_back(launch->entry);
  return macros_of(config, entries);
}

Config sizes_of(const KernelSpec& kernel, const Problem& problem) {
  Config sizes;
  for (const auto& [name, size] : problem) {
    const auto& dims = kernel.dims;
    if (std::find(dims.begin(), dims.end(), name) == dims.end()) continue;
    sizes.emplace_back(name, std::get<std::int64_t>(size));
  }
  return sizes;
}

Config reference_macros(const KernelSpec& kernel, const ReferenceKernelSpec& reference,
                        const Problem& problem) {
  Config macros = macros_of(sizes_of(kernel, problem), {reference.entry});
  for (const auto& arg : reference.args) {
    std::erase_if(macros, [&](const auto& size) { return size.first == arg.name; });
  }
  return macros;
}

}  // namespace assay
