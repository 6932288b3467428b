#include "space/launched.h"

#include <algorithm>

#include "base/find_named.h"
#include "space/bindings.h"
#include "spec/compile_options.h"
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

void set_config(Bindings& bindings, const KernelSpec& kernel, const Config& config) {
  for (const auto& [name, value] : config) {
    bindings.set(kernel.symbols.find(name), slot_value(kernel, value));
  }
  for (const LetSpec& let : kernel.lets) {
    bindings.set_let(kernel.symbols.find(let.name), let.value.expr);
  }
}

/// What is known of a configuration whatever the problem.
Bindings bind(const KernelSpec& kernel, const Config& config, const DeviceInfo& device) {
  Bindings bindings(kernel, device);
  set_config(bindings, kernel, config);
  return bindings;
}

std::int64_t eval(const ExprSpec& spec, const Bindings& bindings, const std::string& with) {
  try {
    return bindings.eval(spec.expr);
  } catch (const EvalError& error) {
    throw SpecError(spec.where, "{} with {}", error.what(), with);
  }
}

std::string text_of(const MacroSpec& macro, const Bindings& bindings, const std::string& with) {
  return macro.value ? std::to_string(eval(*macro.value, bindings, with)) : macro.text;
}

}  // namespace

std::vector<std::string> launched_entries(const KernelSpec& kernel, const Config& config,
                                          const DeviceInfo& device) {
  const Bindings bindings = bind(kernel, config, device);
  std::vector<std::string> entries;
  for (const LaunchSpec* launch : all_launches(kernel)) {
    if (never_runs(*launch, bindings)) continue;
    add_once(entries, instantiate(launch->entry, config));
  }
  return entries;
}

std::int64_t max_registers(const KernelSpec& kernel, const Config& config,
                           const DeviceInfo& device) {
  if (!kernel.compile.maxrregcount) return 0;
  const ExprSpec& limit = *kernel.compile.maxrregcount;
  const std::int64_t value = eval(limit, bind(kernel, config, device), to_text(config));
  if (value >= 1 && value <= 255) return value;
  throw SpecError(limit.where, "expected a limit from 1 to 255, found {} with {}", value,
                  to_text(config));
}

bool is_fast_math(const KernelSpec& kernel, const Config& config, const DeviceInfo& device) {
  const std::optional<ExprSpec>& fast_math = kernel.compile.fast_math;
  return fast_math && eval(*fast_math, bind(kernel, config, device), to_text(config)) != 0;
}

bool is_fast_math_always(const KernelSpec& kernel) {
  const std::optional<ExprSpec>& fast_math = kernel.compile.fast_math;
  return fast_math && fast_math->expr.slots().empty() && fast_math->expr.eval({}) != 0;
}

std::vector<std::string> compiler_options(const KernelSpec& kernel, const Config& config,
                                          const DeviceInfo& device) {
  std::vector<std::string> options;
  if (kernel.compile.options.empty()) return options;
  const Bindings bindings = bind(kernel, config, device);
  for (const OptionSpec& option : kernel.compile.options) {
    if (option.when && eval(*option.when, bindings, to_text(config)) == 0) continue;
    options.push_back(instantiate_option(option.text, config));
  }
  return options;
}

std::map<std::string, std::string> defines(const KernelSpec& kernel, const Problem& problem,
                                           const Config& config, const DeviceInfo& device) {
  std::map<std::string, std::string> macros;
  if (kernel.compile.define.empty()) return macros;
  Bindings bindings(kernel, problem, device);
  set_config(bindings, kernel, config);
  const std::string with = to_text(problem) + " and " + to_text(config);
  for (const auto& [name, macro] : kernel.compile.define) {
    macros[name] = text_of(macro, bindings, with);
  }
  return macros;
}

std::map<std::string, std::string> own_defines(const KernelSpec& kernel,
                                               const ReferenceKernelSpec& own,
                                               const Problem& problem, const DeviceInfo& device) {
  const std::map<int, std::string> varying = dependents(kernel, names_of(kernel.params));
  const auto is_fixed = [&](const MacroSpec& macro) {
    return !find_dependence(macro.value->expr, varying);
  };
  std::map<std::string, MacroSpec> macros;  // a kernel of an op has no say in how the op's are made
  if (kernel.op_path.empty()) macros = kernel.compile.define;
  for (const auto& [name, macro] : own.define) macros[name] = macro;
  std::map<std::string, std::string> texts;
  if (macros.empty()) return texts;
  Bindings bindings(kernel, problem, device);
  set_config(bindings, kernel, {});
  for (const auto& [name, macro] : macros) {
    const bool has_value = macro.value && is_fixed(macro);
    texts[name] = has_value ? text_of(macro, bindings, to_text(problem)) : macro.text;
  }
  return texts;
}

Config macros_of(const KernelSpec& kernel, const Config& config) {
  std::vector<std::string> entries;
  for (const LaunchSpec* launch : all_launches(kernel)) entries.push_back(launch->entry);
  return macros_of(config, entries);
}

Config sizes_of(const KernelSpec& kernel, const Problem& problem) {
  Config sizes;
  for (const auto& [name, size] : problem) {
    if (std::ranges::count(kernel.dims, name) == 0) continue;
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
