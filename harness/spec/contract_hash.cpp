#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "spec/kernel_parts.h"

namespace assay {
namespace {

/// One line per fact, in a fixed order, so that layout, comments and the order of keys do not
/// matter. The text is hashed, never parsed; changing it makes every recorded result stale.
class Canonical {
 public:
  template <typename... Parts>
  void line(const Parts&... parts) {
    ((text_ += ' ', text_ += as_text(parts)), ...);
    text_ += '\n';
  }
  const std::string& text() const { return text_; }

 private:
  static std::string as_text(std::string_view text) { return std::string(text); }
  static std::string as_text(std::int64_t value) { return std::to_string(value); }
  static std::string as_text(const OptionValue& value) {
    const bool* flag = std::get_if<bool>(&value);
    return flag ? as_text(std::int64_t{*flag}) : fmt::format("{}", std::get<double>(value));
  }
  static std::string as_text(const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : "default";
  }
  // Spaces are left out: no expression needs one to tell two tokens apart.
  static std::string as_text(const ExprSpec& spec) {
    std::string text = spec.expr.text();
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
    return text;
  }
  static std::string as_text(const std::optional<ExprSpec>& spec) {
    return spec ? as_text(*spec) : "none";
  }
  static std::string as_text(const std::vector<ExprSpec>& specs) {
    std::string text = "[";
    for (const ExprSpec& spec : specs) text += as_text(spec) + ";";
    return text + "]";
  }

  std::string text_;
};

/// The text of the source is a part of KernelVersion::source_hash.
void add(Canonical& canonical, const ReferenceKernelSpec& kernel) {
  canonical.line("kernel", kernel.source.filename().string(), kernel.entry, kernel.grid,
                 kernel.block, kernel.sum_length);
  for (const ReferenceKernelSpec::Arg& arg : kernel.args) {
    canonical.line(arg.role == Role::scratch ? "scratch"
                   : is_output(arg.role)     ? "writes"
                                             : "reads",
                   arg.name, to_text(arg.dtype), arg.shape, arg.zeroed ? "zeroed" : "as is");
  }
  if (kernel.repeat) {
    canonical.line("repeat", kernel.repeat);
    for (const auto& names : kernel.turns) {
      canonical.line("passes", fmt::format("{}", fmt::join(names, " ")));
    }
  }
  if (kernel.smem_bytes) canonical.line("smem", kernel.smem_bytes);
  for (const auto& [name, macro] : kernel.define) canonical.line("define", name, macro.text);
}

void add(Canonical& canonical, const std::string& name, const BufferSpec& buffer) {
  const auto role = static_cast<std::int64_t>(buffer.role);
  canonical.line("buffer", name, to_text(buffer.dtype), buffer.shape, role,
                 buffer.zeroed ? "zeroed" : "as is");
  if (buffer.zeroed_elements) canonical.line("zeroed", buffer.zeroed_elements);
  if (!buffer.copy_of.empty()) canonical.line("copy", buffer.copy_of);
  if (!buffer.symbol.empty()) canonical.line("symbol", buffer.symbol);
  if (const auto& texture = buffer.texture) {
    canonical.line("texture", std::int64_t{texture->channels}, texture->linear ? "linear" : "point",
                   name_of(kAddressModes, texture->address),
                   texture->normalized ? "normalized" : "in texels");
  }
  const CheckSpec& check = buffer.check;
  if (check.first || check.sorted || check.sum) {
    canonical.line("check", check.first, std::int64_t{check.sorted}, std::int64_t{check.sum});
  }
  if (!is_filled(buffer.role)) return;
  canonical.line("fill", buffer.fill.generator);
  if (!buffer.fill.of.empty()) canonical.line("of", buffer.fill.of);
  if (buffer.fill.file) canonical.line("file", buffer.fill.file->hash);
  if (buffer.fill.kernel) add(canonical, *buffer.fill.kernel);
  for (const auto& [argument, value] : buffer.fill.arguments) {
    canonical.line(argument, value);
    // What was made when these were computed in integers was another input.
    const bool differs = value.expr.is_real() && value.expr.text().find('/') != std::string::npos;
    if (differs) canonical.line("real");
  }
}

void add(Canonical& canonical, const std::string& name, const ScalarSpec& scalar) {
  canonical.line("scalar", name, to_text(scalar.dtype), scalar.value);
  // What was timed when these were computed in integers had other arguments.
  if (is_floating(scalar.dtype)) canonical.line("real");
}

void add(Canonical& canonical, const std::string& name, const TensorMapSpec& map) {
  canonical.line("tensor_map", name, map.of, map.box, std::int64_t{map.swizzle_bytes});
  if (map.when) canonical.line("when", map.when);
}

void add(Canonical& canonical, const std::string& name, const StructSpec& packed) {
  canonical.line("struct", name);
  for (const StructSpec::Member& member : packed.members) {
    canonical.line("member", member.name);
    if (member.name.empty()) add(canonical, "", member.scalar);
  }
}

void add(Canonical& canonical, const std::vector<ReferenceSpec>& steps) {
  for (const ReferenceSpec& step : steps) {
    canonical.line("reference", step.operation);
    for (const auto& [operand, buffer] : step.operands) canonical.line(operand, buffer);
    for (const auto& [option, value] : step.options) canonical.line(option, value);
    for (const auto& [option, value] : step.real_options) canonical.line(option, value);
    if (step.round) canonical.line("round", to_text(*step.round));
    if (step.kernel) add(canonical, *step.kernel);
    if (step.file) canonical.line("file", step.file->hash, step.sum_length);
  }
}

/// The default has no line, as there was no choice once. What the folders hold is a part of
/// KernelVersion::source_hash.
void add(Canonical& canonical, const CompileSpec& compile) {
  for (const auto& [name, macro] : compile.define) canonical.line("define", name, macro.text);
  if (compile.std != CompileSpec().std) canonical.line("std", std::int64_t{compile.std});
  if (compile.fast_math && compile.fast_math->expr.text() == "1") {
    canonical.line("fast_math");
  } else if (compile.fast_math) {
    canonical.line("fast_math", compile.fast_math);
  }
  if (compile.maxrregcount) canonical.line("maxrregcount", compile.maxrregcount);
  for (const OptionSpec& option : compile.options) {
    canonical.line("option", option.text, option.when);
  }
}

void add(Canonical& canonical, const std::string& what, const LaunchSpec& launch) {
  canonical.line(what, launch.entry, launch.when, launch.grid, launch.block, launch.cluster,
                 launch.smem_bytes);
  if (launch.early) canonical.line("early", launch.early);
  if (launch.carveout) canonical.line("carveout", launch.carveout);
  if (launch.cooperative) canonical.line("cooperative");
  if (launch.repeat) canonical.line("repeat", std::int64_t{launch.group}, launch.repeat);
  if (!launch.args) return;
  for (const LaunchArgSpec& arg : *launch.args) {
    canonical.line("passes", fmt::format("{}", fmt::join(arg.names, " ")));
    if (arg.names.empty()) add(canonical, "", arg.scalar);
  }
}

}  // namespace

std::string contract_hash(const KernelSpec& spec) {
  Canonical canonical;
  add(canonical, spec.compile);
  for (const auto& [name, otherwise] : spec.traits) canonical.line("trait", name);
  for (const LetSpec& let : spec.lets) canonical.line("let", let.name, let.value);
  for (const ArgSpec& arg : spec.args) {
    std::visit([&](const auto& form) { add(canonical, arg.name, form); }, arg.form);
  }
  for (const LaunchSpec& launch : spec.prepare) add(canonical, "prepare", launch);
  for (const LaunchSpec& launch : spec.launches) add(canonical, "launch", launch);
  canonical.line("work", spec.flops, spec.bytes);
  add(canonical, spec.reference);
  canonical.line("tolerance", spec.tolerance.relative, spec.tolerance.element);
  if (spec.tolerance.absolute) canonical.line("absolute", spec.tolerance.absolute);
  canonical.line(spec.deterministic ? "deterministic" : "not deterministic");
  return hash_hex(canonical.text());
}

std::string steps_hash(const std::vector<ReferenceSpec>& steps) {
  Canonical canonical;
  add(canonical, steps);
  return hash_hex(canonical.text());
}

}  // namespace assay
