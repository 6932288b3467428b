#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/nearest.h"
#include "spec/kernel_parts.h"
#include "spec/reference_tensors.h"

namespace assay {
namespace {

/// Reads the expressions of a reference kernel, which computes the same for all configurations.
class FixedExprs {
 public:
  explicit FixedExprs(const KernelSpec& spec) : symbols_(spec.symbols) {
    std::vector<std::string> params;
    for (const ParamSpec& param : spec.params) params.push_back(param.name);
    varying_ = dependents(spec, params);
  }

  ExprSpec one(const YamlNode& node) const { return checked(read_expr(node, symbols_)); }

  std::vector<ExprSpec> list(const YamlNode& node, std::size_t most) const {
    std::vector<ExprSpec> exprs = read_exprs(node, symbols_, 1, most);
    for (ExprSpec& expr : exprs) expr = checked(std::move(expr));
    return exprs;
  }

  /// A parameter that the expression depends on, or null.
  const std::string* parameter_of(const Expr& expr) const {
    for (const int slot : expr.slots()) {
      if (const auto found = varying_.find(slot); found != varying_.end()) return &found->second;
    }
    return nullptr;
  }

 private:
  ExprSpec checked(ExprSpec spec) const {
    if (const std::string* param = parameter_of(spec.expr)) {
      throw SpecError(spec.where,
                      fmt::format("expected what no parameter changes, since all configurations "
                                  "have one reference; \"{}\" depends on {}",
                                  spec.expr.text(), *param));
    }
    return spec;
  }

  const Symbols& symbols_;
  std::map<int, std::string> varying_;  // slots, each with a parameter that it depends on
};

/// `ref.cu`, beside the contract or below. The log of a compiler quotes what it reads, so a
/// contract of somebody else names no file from elsewhere.
std::filesystem::path read_source(const YamlNode& node, const KernelSpec& spec) {
  const std::filesystem::path name =
      std::filesystem::path(node.text("the name of a source")).lexically_normal();
  if (name.is_absolute() || name.begin()->string() == "..") {
    node.fail_expected("the name of a source in the folder of the contract");
  }
  const std::filesystem::path path = spec.yaml_path.parent_path() / name;
  if (!std::filesystem::is_regular_file(path)) {
    node.fail(
        fmt::format("expected the source {} beside this file, found none", name.generic_string()));
  }
  return path;
}

/// `A`, `{name: A, dtype: f32}`, or `{name: mean, shape: [M]}` for a new result.
ReferenceKernelSpec::Arg read_kernel_arg(const YamlNode& node, Tensors& tensors,
                                         const KernelSpec& spec, const FixedExprs& exprs) {
  const bool detailed = node.kind() == YamlNode::Kind::map;
  std::optional<YamlMap> map;
  const std::vector<std::string> required = {"name"}, optional = {"dtype", "shape", "init"};
  if (detailed) map.emplace(node, "an argument of a reference kernel", required, optional);
  const YamlNode& name = detailed ? (*map)["name"] : node;
  const YamlNode* const dtype = detailed ? map->find("dtype") : nullptr;
  const YamlNode* const shape = detailed ? map->find("shape") : nullptr;
  const YamlNode* const init = detailed ? map->find("init") : nullptr;
  ReferenceKernelSpec::Arg arg;
  arg.name = name.text("the name of an argument");

  const auto given = std::find_if(spec.args.begin(), spec.args.end(),
                                  [&](const ArgSpec& each) { return each.name == arg.name; });
  const auto refuse_details = [&](std::string_view what) {
    for (const YamlNode* detail : {dtype, shape, init}) {
      if (detail) detail->fail(fmt::format("expected only the name of {}, found more", what));
    }
  };
  if (given != spec.args.end() && !std::holds_alternative<BufferSpec>(given->form)) {
    const auto* scalar = std::get_if<ScalarSpec>(&given->form);
    if (!scalar) name.fail(fmt::format("expected a buffer or a scalar, found \"{}\"", arg.name));
    if (const std::string* param = exprs.parameter_of(scalar->value.expr)) {
      name.fail(
          fmt::format("expected what no parameter changes, since all configurations have "
                      "one reference; \"{}\" depends on {}",
                      arg.name, *param));
    }
    refuse_details("a scalar");
    arg.dtype = scalar->dtype;
    return arg;
  }
  const Tensor* known = tensors.find(arg.name);
  arg.updated = known && known->role == Role::inout && !known->written;
  if (known && known->ready && !arg.updated) {
    refuse_details("what is read");
    arg.dtype = tensors.read(name).dtype;
    return arg;
  }
  if (!known && !shape) {
    std::vector<std::string> names = tensors.names();
    for (const ArgSpec& each : spec.args) {
      if (std::holds_alternative<ScalarSpec>(each.form)) names.push_back(each.name);
    }
    name.fail(
        fmt::format("expected an argument of the kernel, a result of a step before, or "
                    "{{name: .., shape: ..}} for a new one, found \"{}\"{}",
                    arg.name, suggestion(arg.name, names)));
  }
  if (known && shape) {
    shape->fail(
        fmt::format("expected a shape only for what is no argument of the kernel, found "
                    "one for \"{}\"",
                    arg.name));
  }
  if (shape) arg.shape = exprs.list(*shape, 8);
  if (arg.updated) refuse_details("what is updated in place");
  Tensor& tensor = tensors.write(name, arg.shape.size());
  if (dtype) {
    const DType asked = read_dtype(*dtype);
    if (tensor.role && (!is_floating(tensor.dtype) || !is_floating(asked)) &&
        asked != tensor.dtype) {
      dtype->fail(fmt::format("expected {} like \"{}\", found {}: integers are compared exactly",
                              to_text(tensor.dtype), arg.name, to_text(asked)));
    }
    tensor.dtype = asked;
  }
  if (init) init->one_of("an init", {"zero"});
  arg.written = true;
  arg.dtype = tensor.dtype;
  arg.zeroed = init || (given != spec.args.end() && std::get<BufferSpec>(given->form).zeroed);
  return arg;
}

}  // namespace

ReferenceSpec read_reference_kernel(const YamlEntry& entry, Tensors& tensors,
                                    const KernelSpec& spec) {
  const FixedExprs exprs(spec);
  const YamlMap map(*entry.value, "a reference kernel",
                    {"source", "entry", "args", "grid", "block"}, {"sum_length"});
  ReferenceKernelSpec kernel;
  kernel.entry = read_entry(map["entry"], spec, true);
  std::set<std::string> seen;
  for (const YamlPtr& item : map["args"].list("a list of arguments")) {
    kernel.args.push_back(read_kernel_arg(*item, tensors, spec, exprs));
    if (!seen.insert(kernel.args.back().name).second) {
      item->fail(fmt::format("duplicate argument \"{}\"", kernel.args.back().name));
    }
  }
  if (std::none_of(kernel.args.begin(), kernel.args.end(),
                   [](const auto& arg) { return arg.written; })) {
    map["args"].fail("expected an output, or a new result, among the arguments, found none");
  }
  kernel.grid = exprs.list(map["grid"], 3);
  kernel.block = exprs.list(map["block"], 3);
  if (const YamlNode* length = map.find("sum_length")) kernel.sum_length = exprs.one(*length);
  kernel.source = read_source(map["source"], spec);
  kernel.source_where = map["source"].where();
  kernel.entry_where = map["entry"].where();
  kernel.args_where = map["args"].where();
  return {entry.key, {}, {}, entry.where, std::move(kernel)};
}

}  // namespace assay
