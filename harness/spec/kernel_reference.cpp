#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"
#include "spec/kernel_parts.h"
#include "spec/vocabulary.h"

namespace assay {
namespace {

/// A buffer of the kernel, or a result that only later operations read.
struct Tensor {
  std::string name;
  std::size_t rank;
  DType dtype;
  std::optional<Role> role;  // nothing: a result that is no buffer
  Location where;
  bool ready = false;  // holds a value
  bool used = false;   // by an operation after
};

/// What the operations of a reference may read and write.
class Tensors {
 public:
  explicit Tensors(const std::vector<ArgSpec>& args) {
    for (const ArgSpec& arg : args) {
      arguments_.insert(arg.name);
      const auto* buffer = std::get_if<BufferSpec>(&arg.form);
      if (!buffer) continue;
      tensors_.push_back({arg.name, buffer->shape.size(), buffer->dtype, buffer->role, arg.where,
                          buffer->role == Role::in});
    }
  }

  /// The tensor that `node` names, which must hold a value already.
  const Tensor& read(const YamlNode& node) {
    const std::string& name = node.text("the name of a buffer");
    Tensor* tensor = find(name);
    if (!tensor) fail_unknown(node.where(), "the name of a buffer", name);
    if (!tensor->ready) {
      node.fail(fmt::format("expected an input or the result of an operation before, found \"{}\"",
                            name));
    }
    tensor->used = true;
    return *tensor;
  }

  /// The tensor that `node` names, which gets its value now: an output of the kernel, or a new one
  /// of `rank` dimensions.
  Tensor& write(const YamlNode& node, std::size_t rank) {
    const std::string& name = node.text("the name of a buffer");
    Tensor* tensor = find(name);
    if (!tensor) {
      if (arguments_.contains(name)) fail_unknown(node.where(), "the name of a buffer", name);
      node.identifier("the name of a result");
      tensor = &tensors_.emplace_back(Tensor{name, rank, DType::f32, {}, node.where()});
    }
    if (tensor->role && tensor->role != Role::out) {
      node.fail(fmt::format("expected a buffer with role out, found \"{}\"", name));
    }
    if (tensor->ready) {
      node.fail(fmt::format("expected each output once, found \"{}\" again", name));
    }
    tensor->ready = true;
    return *tensor;
  }

  /// Every output was computed, and every other result used. `reference` is what lacks an output.
  void check_complete(const YamlNode& reference) const {
    for (const Tensor& tensor : tensors_) {
      if (!tensor.role && !tensor.used) {
        fail_unknown(tensor.where, "an output, or a result that a later operation reads",
                     tensor.name);
      }
    }
    for (const Tensor& tensor : tensors_) {
      if (tensor.role == Role::out && !tensor.ready) {
        reference.fail(
            fmt::format("expected an operation whose out is \"{}\", found none", tensor.name));
      }
    }
  }

 private:
  Tensor* find(std::string_view name) {
    const auto match = std::find_if(tensors_.begin(), tensors_.end(),
                                    [&](const Tensor& tensor) { return tensor.name == name; });
    return match == tensors_.end() ? nullptr : &*match;
  }

  [[noreturn]] void fail_unknown(const Location& where, std::string_view what,
                                 const std::string& name) const {
    std::vector<std::string> known;
    for (const Tensor& tensor : tensors_) {
      if (tensor.name != name) known.push_back(tensor.name);
    }
    throw SpecError(
        where, fmt::format("expected {}, found \"{}\"{}", what, name, suggestion(name, known)));
  }

  std::set<std::string> arguments_;
  std::vector<Tensor> tensors_;
};

/// Checks that `tensor`, which `node` names, may stand for the operand: `rank` dimensions, and of
/// the dtype of `twin` where there is one.
void check_operand(const YamlNode& node, const OperandRow& operand, const Tensor& tensor,
                   std::size_t rank, const Tensor* twin) {
  if (tensor.rank != rank) {
    node.fail(fmt::format("expected a buffer of {} dimensions, found \"{}\" with {}", rank,
                          tensor.name, tensor.rank));
  }
  if (twin && tensor.dtype != twin->dtype) {
    node.fail(fmt::format("expected a buffer of {} like \"{}\", found \"{}\" of {}",
                          to_text(twin->dtype), twin->name, tensor.name, to_text(tensor.dtype)));
  }
  const auto& dtypes = operand.dtypes;
  if (std::find(dtypes.begin(), dtypes.end(), tensor.dtype) == dtypes.end()) {
    std::vector<std::string_view> names;
    for (const DType dtype : dtypes) names.push_back(to_text(dtype));
    node.fail(fmt::format("expected a buffer of one of {}, found \"{}\" of {}",
                          fmt::join(names, ", "), tensor.name, to_text(tensor.dtype)));
  }
}

ReferenceSpec read_operation(const YamlNode& node, Tensors& tensors) {
  const auto& entries = node.map("an operation: {gemm: {a: A, b: B, out: C}}");
  if (entries.size() != 1) {
    node.fail(fmt::format("expected one operation in each item, found {}", entries.size()));
  }
  const YamlEntry& entry = entries.front();
  const auto& row = row_of(
      operations(), "operation",
      YamlNode::scalar(entry.where, entry.key).one_of("an operation", names_of(operations())));
  std::vector<std::string> operands = names_of(row.inputs);
  for (const OperandRow& output : row.outputs) operands.emplace_back(output.name);
  const YamlMap map(*entry.value, fmt::format("the operation {}", row.name), operands,
                    names_of(row.options));

  ReferenceSpec spec{entry.key, {}, {}, entry.where};
  std::size_t common_rank = 0;
  std::map<std::string_view, Tensor> inputs;
  for (const OperandRow& input : row.inputs) {
    const YamlNode& name = map[input.name];
    const Tensor& tensor = tensors.read(name);
    if (input.rank == 0 && common_rank == 0) common_rank = tensor.rank;
    const auto twin = inputs.find(input.same_as);
    check_operand(name, input, tensor, input.rank == 0 ? common_rank : input.rank,
                  twin == inputs.end() ? nullptr : &twin->second);
    inputs.emplace(input.name, tensor);
    spec.operands.emplace(input.name, tensor.name);
  }
  for (const OperandRow& output : row.outputs) {
    const YamlNode& name = map[output.name];
    const std::size_t rank = output.rank == 0 ? common_rank : output.rank;
    Tensor& tensor = tensors.write(name, rank);
    check_operand(name, output, tensor, rank, nullptr);
    tensor.dtype = DType::f32;
    spec.operands.emplace(output.name, tensor.name);
  }
  for (const OptionRow& option : row.options) {
    const YamlNode* value = map.find(option.name);
    spec.options.emplace(option.name, value ? read_option(*value, option) : option.otherwise);
  }
  return spec;
}

}  // namespace

OptionValue read_option(const YamlNode& node, const OptionRow& row) {
  if (std::holds_alternative<bool>(row.otherwise)) return node.boolean(row.name);
  return node.positive_number(fmt::format("a positive number for {}", row.name));
}

std::vector<ReferenceSpec> read_reference(const YamlNode& node, const std::vector<ArgSpec>& args) {
  Tensors tensors(args);
  std::vector<ReferenceSpec> reference;
  for (const YamlPtr& item : node.list("a list of operations")) {
    reference.push_back(read_operation(*item, tensors));
  }
  tensors.check_complete(node);
  return reference;
}

std::vector<std::string> read_baseline(const YamlNode& node,
                                       const std::vector<ReferenceSpec>& reference) {
  std::vector<std::string> names;
  if (node.is_empty_list()) return names;
  for (const YamlPtr& item : node.list("a list of baselines")) {
    const auto& row =
        row_of(baselines(), "baseline", item->one_of("a baseline", names_of(baselines())));
    if (reference.size() != 1 || reference.front().operation != row.only) {
      std::vector<std::string_view> found;
      for (const ReferenceSpec& spec : reference) found.push_back(spec.operation);
      item->fail(fmt::format("expected a reference that is one {} for the baseline {}, found {}",
                             row.only, row.name, fmt::join(found, ", ")));
    }
    if (std::find(names.begin(), names.end(), row.name) != names.end()) {
      item->fail(fmt::format("duplicate baseline \"{}\"", row.name));
    }
    names.emplace_back(row.name);
  }
  return names;
}

ToleranceSpec read_tolerance(const YamlNode& node) {
  const YamlMap map(node, "the tolerance", {}, {"relative", "element"});
  ToleranceSpec tolerance;
  if (const YamlNode* relative = map.find("relative")) {
    tolerance.relative = relative->positive_number("a positive ratio such as 0.01 or 1%");
  }
  if (const YamlNode* element = map.find("element")) {
    tolerance.element = element->positive_number("a positive factor such as 2");
  }
  return tolerance;
}

}  // namespace assay
