#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/find_named.h"
#include "spec/compile_options.h"
#include "spec/kernel_parts.h"
#include "spec/keys.h"

namespace assay {
namespace {

std::vector<IncludeSpec> read_include(const YamlNode& node, const KernelSpec& spec) {
  std::vector<IncludeSpec> folders;
  for (const YamlPtr& item : node.list("a list of folders")) {
    const std::filesystem::path folder =
        spec.yaml_path.parent_path() / item->text("the path of a folder");
    if (!std::filesystem::is_directory(folder)) {
      item->fail_expected("a folder, as seen from the folder of this file");
    }
    folders.push_back({folder.lexically_normal(), item->where()});
  }
  return folders;
}

/// The slots of what a problem changes.
std::map<int, std::string> dependents_of_problem(const KernelSpec& spec) {
  std::vector<std::string> names = spec.dims;
  for (const auto& [name, value] : spec.traits) names.push_back(name);
  return dependents(spec, names);
}

/// An expression that no problem changes.
ExprSpec read_fixed(const YamlNode& node, const KernelSpec& spec) {
  ExprSpec expr = read_expr(node, spec.symbols);
  const std::map<int, std::string> varying = dependents_of_problem(spec);
  if (const std::string* name = find_dependence(expr.expr, varying)) {
    node.fail(
        "expected what no problem changes, since what is compiled serves all problems; \"{}\" "
        "depends on {}",
        expr.expr.text(), *name);
  }
  return expr;
}

/// `true`, `false`, or an expression. Nothing for `false`.
std::optional<ExprSpec> read_switch(const YamlNode& node, const KernelSpec& spec) {
  if (node.kind() == YamlNode::Kind::scalar) {
    const std::string& word = node.text("true, false or an expression");
    if (word == "true") return ExprSpec{Expr::parse("1", spec.symbols), node.where()};
    if (word == "false") return std::nullopt;
  }
  return read_fixed(node, spec);
}

/// Checks a value that an option takes: one of its own, or `{NAME}`, all of whose values are such.
void check_value(const YamlNode& node, std::string_view value, const CompilerOption& option,
                 const KernelSpec& spec) {
  const auto is_taken = [&](const std::string& text) {
    const auto& values = option.values;
    // Words that YAML reads as booleans are no values of a parameter.
    const std::string word = values.front() != "true" ? text
                             : text == "1"            ? "true"
                             : text == "0"            ? "false"
                                                      : text;
    return std::ranges::find(values, word) != values.end();
  };
  std::vector<std::string> values;
  if (value.starts_with('{') && value.ends_with('}')) {
    const std::string name(value.substr(1, value.size() - 2));
    const auto* param = find_named(spec.params, name);
    if (param == nullptr) node.fail("expected a parameter in braces, found \"{}\"", name);
    for (const Value& each : param->values) values.push_back(to_text(each));
  } else {
    values.emplace_back(value);
  }
  for (const std::string& each : values) {
    if (option.values.empty() ? each.empty() : is_taken(each)) continue;
    node.fail("expected {} {}, found \"{}\"", option.name,
              option.values.empty() ? "without a value"
                                    : fmt::format("with one of {}", fmt::join(option.values, ", ")),
              each);
  }
}

/// `--fmad=false`, `-dlcm={CACHE}`, or {"--fmad=false": condition}.
OptionSpec read_compiler_option(const YamlNode& node, const KernelSpec& spec, bool of_ptxas) {
  OptionSpec option{"", {}, node.where()};
  if (node.kind() == YamlNode::Kind::map) {
    const auto& entries = node.map("an option");
    if (entries.size() != 1) {
      node.fail("expected one option in each item, found {}", entries.size());
    }
    option.text = entries.front().key;
    option.when = read_fixed(*entries.front().value, spec);
  } else {
    option.text = node.text("an option of the compiler");
  }
  std::string_view value;
  const CompilerOption* known = find_compiler_option(option.text, of_ptxas, value);
  if (known == nullptr) {
    node.fail(
        "expected an option that changes no more than speed and rounding, one of {}; found \"{}\"",
        known_compiler_options(of_ptxas), option.text);
  }
  check_value(node, value, *known, spec);
  std::string text(known->name);  // `value` is a part of option.text
  if (!value.empty()) text += fmt::format("={}", value);
  option.text = (of_ptxas ? "--ptxas-options=" : "") + text;
  return option;
}

void read_options(const YamlNode* node, const KernelSpec& spec, bool of_ptxas,
                  std::vector<OptionSpec>& options) {
  if (node == nullptr) return;
  for (const YamlPtr& item : node->list("a list of options of the compiler")) {
    options.push_back(read_compiler_option(*item, spec, of_ptxas));
  }
}

/// `text` as an expression of integers that reads a name of the contract, if it is one. A word has
/// no number, so what reads one stays a text.
std::optional<ExprSpec> find_value(const YamlNode& node, const std::string& text,
                                   const KernelSpec& spec) {
  std::set<std::string> with_words;
  for (const ParamSpec& param : spec.params) {
    for (const Value& value : param.values) {
      const auto* word = std::get_if<std::string>(&value);
      if (word != nullptr) with_words.insert({param.name, *word});
    }
  }
  try {
    Expr expr = Expr::parse(text, spec.symbols);
    const std::vector<int>& slots = expr.slots();
    const bool reads_word = std::ranges::any_of(
        slots, [&](int slot) { return with_words.contains(spec.symbols.name(slot)); });
    if (slots.empty() || reads_word) return std::nullopt;
    return ExprSpec{std::move(expr), node.where()};
  } catch (const ExprError&) {
    return std::nullopt;
  }
}

/// The macros of the kernel's own source, in which other names are macros already.
std::map<std::string, MacroSpec> read_own_define(const YamlNode& node, const KernelSpec& spec) {
  for (const YamlEntry& entry : node.map("a map of macros to values")) {
    if (spec.symbols.find(entry.key) < 0) continue;
    throw SpecError(entry.where,
                    "expected a new name for a macro, found \"{}\", which is a dim, a trait, a "
                    "parameter, a word or a let already",
                    entry.key);
  }
  return read_define(node, spec);
}

}  // namespace

std::map<std::string, MacroSpec> read_define(const YamlNode& node, const KernelSpec& spec) {
  std::map<std::string, MacroSpec> macros;
  for (const YamlEntry& entry : node.map("a map of macros to values")) {
    YamlNode::scalar(entry.where, entry.key).identifier("the name of a macro");
    const std::string& value = entry.value->text("the value of a macro");
    // Another line, or a comment that goes on, would take in the macros behind.
    const bool is_line = std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; }) &&
                         value.find("/*") == std::string::npos && !value.ends_with('\\');
    if (!is_line) {
      entry.value->fail_expected("the value of a macro, of ASCII characters on one line");
    }
    macros[entry.key] = {value, find_value(*entry.value, value, spec)};
  }
  return macros;
}

CompileSpec read_compile(const YamlNode& node, const KernelSpec& spec) {
  const YamlMap map(node, kCompileKeys);
  CompileSpec compile;
  map.read("include", compile.include, read_include, spec);
  map.read("define", compile.define, read_own_define, spec);
  if (const YamlNode* std = map.find("std")) {
    compile.std = std->one_of("a standard of C++", kStandards) == "17" ? 17 : 20;
  }
  map.read("fast_math", compile.fast_math, read_switch, spec);
  map.read("maxrregcount", compile.maxrregcount, read_fixed, spec);
  if (const YamlNode* fmad = map.find("fmad")) {
    const std::optional<ExprSpec> fused = read_switch(*fmad, spec);
    const std::string unless = fused ? fmt::format("!({})", fused->expr.text()) : "1";
    if (unless != "!(1)") {
      compile.options.push_back({"--fmad=false",
                                 ExprSpec{Expr::parse(unless, spec.symbols), fmad->where()},
                                 fmad->where()});
    }
  }
  if (const YamlNode* lineinfo = map.find("lineinfo")) {
    const std::optional<ExprSpec> when = read_switch(*lineinfo, spec);
    if (when) compile.options.push_back({"--generate-line-info", when, lineinfo->where()});
  }
  read_options(map.find("options"), spec, false, compile.options);
  read_options(map.find("ptxas"), spec, true, compile.options);
  return compile;
}

bool is_compiled_per_problem(const KernelSpec& kernel) {
  const std::map<int, std::string> varying = dependents_of_problem(kernel);
  return std::ranges::any_of(kernel.compile.define, [&](const auto& macro) {
    const std::optional<ExprSpec>& value = macro.second.value;
    return value && find_dependence(value->expr, varying);
  });
}

}  // namespace assay
