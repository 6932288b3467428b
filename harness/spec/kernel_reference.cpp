#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "spec/kernel_parts.h"
#include "spec/keys.h"
#include "spec/reference_tensors.h"
#include "spec/vocabulary.h"

namespace assay {
namespace {

/// Checks that `tensor`, which `node` names, may stand for the operand: `rank` dimensions, and of
/// the dtype of `twin` where there is one.
void check_operand(const YamlNode& node, const OperandRow& operand, const Tensor& tensor,
                   std::size_t rank, const Tensor* twin) {
  if (tensor.rank != rank) {
    node.fail("expected a buffer of {} dimensions, found \"{}\" with {}", rank, tensor.name,
              tensor.rank);
  }
  if (twin && tensor.dtype != twin->dtype) {
    node.fail("expected a buffer of {} like \"{}\", found \"{}\" of {}", to_text(twin->dtype),
              twin->name, tensor.name, to_text(tensor.dtype));
  }
  if (std::ranges::count(operand.dtypes, tensor.dtype) == 0) {
    std::vector<std::string_view> names;
    for (const DType dtype : operand.dtypes) names.push_back(to_text(dtype));
    node.fail("expected a buffer of one of {}, found \"{}\" of {}", fmt::join(names, ", "),
              tensor.name, to_text(tensor.dtype));
  }
}

/// The dtype in which a chain of kernels would pass a result on.
DType read_round(const YamlNode& node, const std::optional<Role>& role) {
  if (role) {
    node.fail(
        "expected round only on a result that no buffer holds: an output is compared with what it "
        "should be before rounding");
  }
  return *parse_dtype(node.one_of("a dtype to round to", kRoundings));
}

/// Whether a number is not given as it is: `epsilon: eps`.
bool is_expression(const YamlNode& node, const OptionRow& row) {
  return std::holds_alternative<double>(row.otherwise) && node.kind() == YamlNode::Kind::scalar &&
         is_letter(node.text(row.name).front());
}

/// Checks what is particular to cuBLASLt's product: its operands and its epilogue.
void check_product(const YamlMap& map, std::size_t rank) {
  if (rank != 2 && rank != 3) {
    map["a"].fail("expected a matrix, or a stack of them, found \"{}\" with {} dimensions",
                  map["a"].text("a buffer"), rank);
  }
  if (map.find("relu") && map.find("gelu")) {
    map.find("gelu")->fail("expected relu or gelu, found both");
  }
}

const FillSpec* find_fill(const KernelSpec& spec, const std::string& name) {
  for (const ArgSpec& arg : spec.args) {
    const auto* buffer = std::get_if<BufferSpec>(&arg.form);
    if (buffer && arg.name == name && is_filled(buffer->role)) return &buffer->fill;
  }
  return nullptr;
}

/// Whether the input holds the same in each run, whatever the seed. None is made of itself.
bool is_fixed(const KernelSpec& spec, const std::string& name) {
  const FillSpec* fill = find_fill(spec, name);
  if (!fill) return true;  // a scalar
  if (!fill->of.empty()) return is_fixed(spec, fill->of);
  if (fill->kernel) {
    const auto& args = fill->kernel->args;
    return std::ranges::all_of(args, [&](const ReferenceKernelSpec::Arg& arg) {
      return !arg.seed && (arg.name == name || is_fixed(spec, arg.name));
    });
  }
  return fill->file || row_of(generators(), "generator", fill->generator).ignores_seed;
}

}  // namespace

ReferenceSpec read_step(const YamlNode& node, Tensors& tensors, const KernelSpec& kernel,
                        Steps of) {
  const bool reference = of == Steps::reference;
  if (reference && node.find(kReferenceFile)) return read_reference_file(node, tensors, kernel);
  const auto& entries = node.map(reference ? "an operation: {gemm: {a: A, b: B, out: C}}"
                                           : "a step: {cublaslt: {a: A, b: B, out: C}}");
  if (entries.size() != 1) {
    node.fail("expected one operation in each item, found {}", entries.size());
  }
  const YamlEntry& entry = entries.front();
  if (entry.key == kReferenceKernel) return read_reference_kernel(entry, tensors, kernel, of);
  const auto& rows = reference ? operations() : baseline_operations();
  std::vector<std::string> known = names_of(rows);
  known.emplace_back(kReferenceKernel);
  if (reference) known.emplace_back(kReferenceFile);
  const auto& row = row_of(rows, "operation",
                           YamlNode::scalar(entry.where, entry.key).one_of("an operation", known));
  const YamlMap map(*entry.value, keys_of(row));

  ReferenceSpec spec{entry.key, {}, {}, entry.where};
  std::size_t common_rank = 0;
  bool wide = false;
  std::map<std::string_view, Tensor> inputs;
  for (const OperandRow& input : row.inputs) {
    if (map.find(input.name) == nullptr) continue;
    const YamlNode& name = map[input.name];
    const Tensor& tensor = tensors.read(name);
    if (input.rank == 0 && common_rank == 0) common_rank = tensor.rank;
    const auto twin = inputs.find(input.same_as);
    check_operand(name, input, tensor, input.rank == 0 ? common_rank : input.rank,
                  twin == inputs.end() ? nullptr : &twin->second);
    wide = wide || tensor.dtype == DType::f64;
    inputs.emplace(input.name, tensor);
    spec.operands.emplace(input.name, tensor.name);
  }
  if (!reference && row.id == OperationId::gemm) check_product(map, common_rank);
  for (const OperandRow& output : row.outputs) {
    const YamlNode& name = map[output.name];
    const std::size_t rank = output.rank == 0 ? common_rank : output.rank;
    Tensor& tensor = tensors.write(name, rank);
    check_operand(name, output, tensor, rank, nullptr);
    // The worker keeps what is neither f64 nor an integer in f32, and what is made of f64 in f64. A
    // baseline writes the outputs as they are.
    const bool kept = reference || !tensor.role;
    if (kept && tensor.dtype != DType::f64 && is_floating(tensor.dtype)) tensor.dtype = DType::f32;
    if (!tensor.role && wide) tensor.dtype = DType::f64;
    if (const YamlNode* round = map.find("round")) {
      spec.round = read_round(*round, tensor.role);
      if (row.id == OperationId::gemm && inputs.at("a").dtype == DType::f32) {
        round->fail("expected no round on a product of f32: cuBLAS makes f32 of it");
      }
      tensor.dtype = *spec.round;
    }
    spec.operands.emplace(output.name, tensor.name);
  }
  for (const OptionRow& option : row.options) {
    const YamlNode* value = map.find(option.name);
    if (value && is_expression(*value, option)) {
      spec.real_options.emplace(option.name,
                                FixedExprs(kernel, shared_by_configurations(of)).real(*value));
      continue;
    }
    if (!value && option.later) continue;
    spec.options.emplace(option.name, value ? read_option(*value, option) : option.otherwise);
    if (option.name == "tf32" && inputs.at("a").dtype != DType::f32) {
      value->fail("expected tf32 on a product of f32 only");
    }
  }
  return spec;
}

OptionValue read_option(const YamlNode& node, const OptionRow& row) {
  if (std::holds_alternative<bool>(row.otherwise)) return node.boolean(row.name);
  return node.positive_number(fmt::format("a positive number for {}", row.name));
}

std::vector<ReferenceSpec> read_reference(const YamlNode& node, const KernelSpec& spec) {
  Tensors tensors(spec.args);
  std::vector<ReferenceSpec> reference;
  for (const YamlPtr& item : node.list("a list of operations")) {
    reference.push_back(read_step(*item, tensors, spec, Steps::reference));
  }
  tensors.check_complete(node);
  return reference;
}

ToleranceSpec read_tolerance(const YamlNode& node) {
  const YamlMap map(node, kToleranceKeys);
  ToleranceSpec tolerance;
  if (const YamlNode* relative = map.find("relative")) {
    tolerance.relative = relative->positive_number("a positive ratio such as 0.01 or 1%");
    if (*tolerance.relative >= 1) {
      relative->fail_expected(
          "a ratio below 1, since an output of zeros is off by 1; state how far a right output may "
          "be, such as 0.01");
    }
  }
  map.read("element", tolerance.element, &YamlNode::positive_number, "a positive factor such as 2");
  map.read("absolute", tolerance.absolute, &YamlNode::positive_number,
           "a positive number such as 1e-6");
  return tolerance;
}

ReferenceSpec read_reference_file(const YamlNode& node, Tensors& tensors, const KernelSpec& spec) {
  const YamlMap map(node, kReferenceFileKeys);
  const YamlNode& out = map["out"];
  const Tensor* known = tensors.find(out.text("the name of an output"));
  if (!known || !known->role) {
    out.fail("expected an output of the kernel, found \"{}\"", out.text("the name of an output"));
  }
  const Tensor& tensor = tensors.write(out, known->rank);
  for (const ArgSpec& arg : spec.args) {
    if (is_fixed(spec, arg.name)) continue;
    map[kReferenceFile].fail(
        "expected a recorded output only where all inputs are the same in each run: filled from a "
        "file, with zeros, ones or iota, or made of such; \"{}\" is filled with {}",
        arg.name, find_fill(spec, arg.name)->generator);
  }
  ReferenceSpec step{std::string(kReferenceFile), {{"out", tensor.name}}, {}, node.where()};
  step.file = read_data_file(map[kReferenceFile], spec);
  if (const YamlNode* length = map.find("sum_length")) {
    step.sum_length = FixedExprs(spec, "").one(*length);
  }
  return step;
}

}  // namespace assay
