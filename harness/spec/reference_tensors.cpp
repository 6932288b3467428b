#include "spec/reference_tensors.h"

#include "base/find_named.h"
#include "base/text.h"

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

Tensors::Tensors(const std::vector<ArgSpec>& args) {
  for (const ArgSpec& arg : args) {
    arguments_.insert(arg.name);
    const auto* buffer = std::get_if<BufferSpec>(&arg.form);
    if (!buffer) continue;
    tensors_.push_back({arg.name, buffer->shape.size(), buffer->dtype, buffer->role, arg.where,
                        is_filled(buffer->role)});
  }
}

Tensor* Tensors::find(std::string_view name) { return find_named(tensors_, name); }

std::vector<std::string> Tensors::names() const { return names_of(tensors_); }

const Tensor& Tensors::read(const YamlNode& node) {
  const std::string& name = node.text("the name of a buffer");
  Tensor* tensor = find(name);
  if (!tensor) fail_unknown(node.where(), "the name of a buffer", name);
  if (!tensor->ready) {
    node.fail("expected an input or the result of an operation before, found \"{}\"", name);
  }
  tensor->used = true;
  return *tensor;
}

Tensor& Tensors::write(const YamlNode& node, std::size_t rank) {
  const std::string& name = node.text("the name of a buffer");
  Tensor* tensor = find(name);
  if (!tensor) {
    if (arguments_.contains(name)) fail_unknown(node.where(), "the name of a buffer", name);
    node.identifier("the name of a result");
    tensor = &tensors_.emplace_back(Tensor{name, rank, DType::f32, {}, node.where()});
  }
  if (tensor->role && !is_output(*tensor->role)) {
    node.fail("expected a buffer with role out, found \"{}\"", name);
  }
  if (tensor->written) node.fail("expected each output once, found \"{}\" again", name);
  tensor->ready = tensor->written = true;
  return *tensor;
}

Tensor& Tensors::update(const YamlNode& node) {
  Tensor& tensor = *find(node.text("the name of a buffer"));
  tensor.written = true;
  return tensor;
}

void Tensors::check_complete(const YamlNode& reference) const {
  for (const Tensor& tensor : tensors_) {
    if (!tensor.role && !tensor.used) {
      fail_unknown(tensor.where, "an output, or a result that a later operation reads",
                   tensor.name);
    }
  }
  for (const Tensor& tensor : tensors_) {
    if (tensor.role && is_output(*tensor.role) && !tensor.written) {
      reference.fail("expected an operation whose out is \"{}\", found none", tensor.name);
    }
  }
}

void Tensors::fail_unknown(const Location& where, std::string_view what,
                           const std::string& name) const {
  std::vector<std::string> known = names();
  std::erase(known, name);
  throw SpecError(where, "expected {}, found \"{}\"{}", what, name, suggestion(name, known));
}

FixedExprs::FixedExprs(const KernelSpec& spec, std::string_view shared)
    : symbols_(spec.symbols), shared_(shared) {
  if (!shared.empty()) varying_ = dependents(spec, names_of(spec.params));
}

ExprSpec FixedExprs::one(const YamlNode& node) const {
  ExprSpec expr = read_expr(node, symbols_);
  check(expr);
  return expr;
}

ExprSpec FixedExprs::real(const YamlNode& node) const {
  ExprSpec expr = read_real_expr(node, symbols_);
  check(expr);
  return expr;
}

std::vector<ExprSpec> FixedExprs::list(const YamlNode& node, std::size_t most) const {
  std::vector<ExprSpec> exprs = read_exprs(node, symbols_, 1, most);
  for (const ExprSpec& expr : exprs) check(expr);
  return exprs;
}

void FixedExprs::check(const Location& where, std::string_view name, const Expr& expr) const {
  if (const std::string* param = find_dependence(expr, varying_)) {
    throw SpecError(where,
                    "expected what no parameter changes, since all configurations have one {}; "
                    "\"{}\" depends on {}",
                    shared_, name, *param);
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
