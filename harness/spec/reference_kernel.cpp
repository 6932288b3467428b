#include <algorithm>
#include <utility>

#include "base/find_named.h"
#include "base/text.h"
#include "spec/kernel_parts.h"
#include "spec/keys.h"
#include "spec/reference_tensors.h"

namespace assay {
namespace {

constexpr const char* kScratch = "scratch";

/// `{name: spare, shape: [M], role: scratch}`: memory that no other step sees.
ReferenceKernelSpec::Arg read_scratch(const YamlMap& map, Tensors& tensors, const KernelSpec& spec,
                                      const FixedExprs& exprs) {
  ReferenceKernelSpec::Arg arg;
  arg.name = map["name"].identifier("the name of scratch");
  if (find_named(spec.args, arg.name) || tensors.find(arg.name)) {
    map["name"].fail("expected a new name for scratch, found \"{}\"", arg.name);
  }
  arg.role = Role::scratch;
  arg.shape = exprs.list(map["shape"], 8);
  map.read("dtype", arg.dtype, read_dtype);
  return arg;
}

/// `A`, `{name: A, dtype: f32}`, or `{name: mean, shape: [M]}` for a new result.
ReferenceKernelSpec::Arg read_kernel_arg(const YamlNode& node, Tensors& tensors,
                                         const KernelSpec& spec, const FixedExprs& exprs,
                                         Steps of) {
  const bool detailed = node.kind() == YamlNode::Kind::map;
  if (const YamlNode* role = of == Steps::reference ? node.find("role") : nullptr) {
    role->one_of("a role", {kScratch});
    return read_scratch(YamlMap(node, kReferenceScratchKeys), tensors, spec, exprs);
  }
  if (detailed) YamlMap(node, kReferenceArgKeys);
  const YamlNode& name = detailed ? *node.find("name") : node;
  const YamlNode* const dtype = node.find("dtype");
  const YamlNode* const shape = node.find("shape");
  const YamlNode* const init = node.find("init");
  ReferenceKernelSpec::Arg arg;
  arg.name = name.text("the name of an argument");

  const auto* given = find_named(spec.args, arg.name);
  const auto refuse_details = [&](std::string_view what) {
    for (const YamlNode* detail : {dtype, shape, init}) {
      if (detail) detail->fail("expected only the name of {}, found more", what);
    }
  };
  if (given != nullptr && !std::holds_alternative<BufferSpec>(given->form)) {
    const auto* scalar = std::get_if<ScalarSpec>(&given->form);
    if (!scalar) name.fail("expected a buffer or a scalar, found \"{}\"", arg.name);
    exprs.check(name.where(), arg.name, scalar->value.expr);
    refuse_details("a scalar");
    arg.dtype = scalar->dtype;
    return arg;
  }
  const Tensor* known = tensors.find(arg.name);
  const bool is_updated = known && known->role == Role::inout;
  if (known && known->ready && !is_updated) {
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
        "expected an argument of the kernel, a result of a step before, or {{name: .., shape: ..}} "
        "for a new one, found \"{}\"{}",
        arg.name, suggestion(arg.name, names));
  }
  if (known && shape) {
    shape->fail("expected a shape only for what is no argument of the kernel, found one for \"{}\"",
                arg.name);
  }
  if (shape) arg.shape = exprs.list(*shape, 8);
  if (is_updated) refuse_details("what is updated in place");
  Tensor& tensor = is_updated ? tensors.update(name) : tensors.write(name, arg.shape.size());
  if (dtype && tensor.role && of == Steps::baseline) {
    dtype->fail("expected a dtype only for a new result, found one for \"{}\"", arg.name);
  }
  if (dtype) {
    const DType asked = read_dtype(*dtype);
    if (tensor.role && (!is_floating(tensor.dtype) || !is_floating(asked)) &&
        asked != tensor.dtype) {
      dtype->fail("expected {} like \"{}\", found {}: integers are compared exactly",
                  to_text(tensor.dtype), arg.name, to_text(asked));
    }
    tensor.dtype = asked;
  }
  if (init) init->one_of("an init", {"zero"});
  arg.role = is_updated ? Role::inout : Role::out;
  arg.dtype = tensor.dtype;
  arg.zeroed = init || (given != nullptr && std::get<BufferSpec>(given->form).zeroed);
  return arg;
}

/// Reads the arguments of a kernel, each once. What passes take in turn may stand in several turns.
class ArgsReader {
 public:
  ArgsReader(Tensors& tensors, const KernelSpec& spec, const FixedExprs& exprs, Steps of,
             ReferenceKernelSpec& kernel)
      : tensors_(tensors), spec_(spec), exprs_(exprs), of_(of), kernel_(kernel) {}

  void read(const YamlNode& node) {
    const bool is_map = kernel_.repeat && node.kind() == YamlNode::Kind::map;
    for (const auto& [keys, count] : {std::pair(&kFromKeys, std::size_t{3}), {&kToKeys, 2}}) {
      const std::string& key = keys->required.front();
      if (!is_map || !node.find(key)) continue;
      read_turns(YamlMap(node, *keys)[key], count);
      return;
    }
    kernel_.turns.push_back({add(node)});
  }

 private:
  /// Reads an argument that was not read yet, and returns its name.
  std::string add(const YamlNode& node) {
    ReferenceKernelSpec::Arg arg = read_kernel_arg(node, tensors_, spec_, exprs_, of_);
    if (find(arg.name)) node.fail("duplicate argument \"{}\"", arg.name);
    kernel_.args.push_back(std::move(arg));
    return kernel_.args.back().name;
  }

  const ReferenceKernelSpec::Arg* find(const std::string& name) const {
    return find_named(kernel_.args, name);
  }

  /// `[x, spare, y]`: see LaunchArgSpec. All but the first of three are written.
  void read_turns(const YamlNode& node, std::size_t count) {
    const auto& items = node.list("a list of buffers");
    if (items.size() != count) node.fail("expected {} buffers, found {}", count, items.size());
    std::vector<std::string> names;
    for (const YamlPtr& item : items) {
      names.push_back(find(item->any_text()) ? item->any_text() : add(*item));
      const ReferenceKernelSpec::Arg& arg = *find(names.back());
      if (arg.role == Role::in && names.size() + 2 > count) {
        item->fail("expected a buffer that a pass may write, found \"{}\"", arg.name);
      }
      if (arg.dtype != find(names.front())->dtype) {
        item->fail("expected a buffer of {} like \"{}\", found \"{}\" of {}",
                   to_text(find(names.front())->dtype), names.front(), arg.name,
                   to_text(arg.dtype));
      }
    }
    kernel_.turns.push_back(std::move(names));
  }

  Tensors& tensors_;
  const KernelSpec& spec_;
  const FixedExprs& exprs_;
  const Steps of_;
  ReferenceKernelSpec& kernel_;
};

}  // namespace

ReferenceSpec read_reference_kernel(const YamlEntry& entry, Tensors& tensors,
                                    const KernelSpec& spec, Steps of) {
  const bool reference = of == Steps::reference;
  const FixedExprs exprs(spec, shared_by_configurations(of));
  const YamlMap map(*entry.value, reference ? kReferenceKernelKeys : kBaselineKernelKeys);
  ReferenceKernelSpec kernel;
  if (const YamlNode* repeat = map.find("repeat")) kernel.repeat = exprs.one(*repeat);
  ArgsReader args(tensors, spec, exprs, of, kernel);
  for (const YamlPtr& item : map["args"].list("a list of arguments")) args.read(*item);
  if (std::ranges::none_of(kernel.args, [](const auto& arg) { return is_output(arg.role); })) {
    map["args"].fail("expected an output, or a new result, among the arguments, found none");
  }
  if (const YamlNode* length = map.find("sum_length")) kernel.sum_length = exprs.one(*length);
  if (const YamlNode* bytes = map.find("smem_bytes")) kernel.smem_bytes = exprs.one(*bytes);
  if (const YamlNode* define = map.find("define")) {
    kernel.define = read_define(*define, spec);
    for (const std::string& dim : spec.dims) {
      if (!kernel.define.contains(dim)) continue;
      define->fail("expected other macros than the sizes, which are set, found \"{}\"", dim);
    }
  }
  read_source_and_size(map, spec, exprs, kernel);
  return {entry.key, {}, {}, entry.where, std::move(kernel)};
}

}  // namespace assay
