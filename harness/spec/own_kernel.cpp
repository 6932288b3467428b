#include "spec/own_kernel.h"

namespace assay {
namespace {

/// `ref.cu`, beside the contract or below. The log of a compiler quotes what it reads, so a
/// contract of somebody else names no file from elsewhere.
std::filesystem::path read_source(const YamlNode& node, const KernelSpec& spec) {
  const std::filesystem::path name =
      std::filesystem::path(node.text("the name of a source")).lexically_normal();
  if (name.is_absolute() || name.begin()->string() == "..") {
    node.fail_expected("the name of a source in the folder of the contract");
  }
  const std::filesystem::path path = folder_at(spec, node.where()) / name;
  if (!std::filesystem::is_regular_file(path)) {
    node.fail("expected the source {} beside this file, found none", name.generic_string());
  }
  return path;
}

}  // namespace

FixedExprs::FixedExprs(const KernelSpec& spec, std::string_view shared)
    : symbols_(spec.symbols), shared_(shared) {
  if (!shared.empty()) varying_ = dependents(spec, names_of(spec.params));
}

ExprSpec FixedExprs::one(const YamlNode& node) const {
  ExprSpec expr = read_expr(node, symbols_);
  check(expr.where, expr.expr.text(), expr.expr);
  return expr;
}

ExprSpec FixedExprs::real(const YamlNode& node) const {
  ExprSpec expr = read_real_expr(node, symbols_);
  check(expr.where, expr.expr.text(), expr.expr);
  return expr;
}

std::vector<ExprSpec> FixedExprs::list(const YamlNode& node, std::size_t most) const {
  std::vector<ExprSpec> exprs = read_exprs(node, symbols_, 1, most);
  for (const ExprSpec& expr : exprs) check(expr.where, expr.expr.text(), expr.expr);
  return exprs;
}

void FixedExprs::check(const Location& where, std::string_view name, const Expr& expr) const {
  for (const int slot : expr.slots()) {
    const auto found = varying_.find(slot);
    if (found == varying_.end()) continue;
    throw SpecError(where,
                    "expected what no parameter changes, since all configurations have one {}; "
                    "\"{}\" depends on {}",
                    shared_, name, found->second);
  }
}

void read_source_and_size(const YamlMap& map, const KernelSpec& spec, const FixedExprs& exprs,
                          ReferenceKernelSpec& kernel) {
  kernel.entry = read_entry(map["entry"], spec, true);
  kernel.grid = exprs.list(map["grid"], 3);
  kernel.block = exprs.list(map["block"], 3);
  kernel.source = read_source(map["source"], spec);
  kernel.source_where = map["source"].where();
  kernel.entry_where = map["entry"].where();
  kernel.args_where = map["args"].where();
}

}  // namespace assay
