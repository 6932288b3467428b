#include <algorithm>

#include <fmt/format.h>

#include "spec/kernel_parts.h"

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

ExprSpec read_maxrregcount(const YamlNode& node, const KernelSpec& spec) {
  ExprSpec limit = read_expr(node, spec.symbols);
  std::vector<std::string> of_problem = spec.dims;
  for (const auto& [name, value] : spec.traits) of_problem.push_back(name);
  const std::map<int, std::string> varying = dependents(spec, of_problem);
  for (const int slot : limit.expr.slots()) {
    const auto found = varying.find(slot);
    if (found == varying.end()) continue;
    node.fail(
        fmt::format("expected what no problem changes, since what is compiled serves all problems; "
                    "\"{}\" depends "
                    "on {}",
                    limit.expr.text(), found->second));
  }
  return limit;
}

/// The macros of the kernel's own source, in which other names are macros already.
std::map<std::string, std::string> read_own_define(const YamlNode& node, const KernelSpec& spec) {
  for (const YamlEntry& entry : node.map("a map of macros to values")) {
    if (spec.symbols.find(entry.key) < 0) continue;
    throw SpecError(entry.where,
                    fmt::format("expected a new name for a macro, found \"{}\", which "
                                "is a dim, a trait, a parameter, a word or a let already",
                                entry.key));
  }
  return read_define(node);
}

}  // namespace

std::map<std::string, std::string> read_define(const YamlNode& node) {
  std::map<std::string, std::string> macros;
  for (const YamlEntry& entry : node.map("a map of macros to values")) {
    YamlNode::scalar(entry.where, entry.key).identifier("the name of a macro");
    const std::string& value = entry.value->text("the value of a macro");
    if (!std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; })) {
      entry.value->fail_expected("the value of a macro, of ASCII characters on one line");
    }
    macros[entry.key] = value;
  }
  return macros;
}

CompileSpec read_compile(const YamlNode& node, const KernelSpec& spec) {
  const YamlMap map(node, "compile", {}, {"include", "define", "std", "fast_math", "maxrregcount"});
  CompileSpec compile;
  if (const YamlNode* include = map.find("include")) compile.include = read_include(*include, spec);
  if (const YamlNode* define = map.find("define")) compile.define = read_own_define(*define, spec);
  if (const YamlNode* std = map.find("std")) {
    compile.std = std->one_of("a standard of C++", {"17", "20"}) == "17" ? 17 : 20;
  }
  if (const YamlNode* fast = map.find("fast_math")) compile.fast_math = fast->boolean("fast_math");
  if (const YamlNode* limit = map.find("maxrregcount")) {
    compile.maxrregcount = read_maxrregcount(*limit, spec);
  }
  return compile;
}

}  // namespace assay
