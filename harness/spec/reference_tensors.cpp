#include "spec/reference_tensors.h"

#include "base/find_named.h"
#include "base/nearest.h"

namespace assay {

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

}  // namespace assay
