#include <algorithm>

#include "spec/kernel_parts.h"
#include "spec/keys.h"
#include "spec/own_kernel.h"
#include "spec/reference_tensors.h"

namespace assay {
namespace {

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
  if (!fill->file.empty()) return true;
  switch (row_of(generators(), "generator", fill->generator).id) {
    case Generator::zeros:
    case Generator::ones:
    case Generator::iota:
      return true;
    case Generator::normal:
    case Generator::uniform:
    case Generator::permutation:
    case Generator::routing:
    case Generator::distinct:
    case Generator::row_starts:
      break;
  }
  return false;
}

}  // namespace

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
