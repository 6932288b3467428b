#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/nearest.h"
#include "spec/kernel_parts.h"
#include "spec/vocabulary.h"

namespace assay {
namespace {

/// The buffers of a kernel that operations may read and write.
class Operands {
 public:
  explicit Operands(const std::vector<ArgSpec>& args) {
    for (const ArgSpec& arg : args) {
      if (const auto* buffer = std::get_if<BufferSpec>(&arg.form)) {
        buffers_.push_back({arg.name, buffer});
        if (buffer->role == Role::in) ready_.insert(arg.name);
      }
    }
  }

  /// The buffer that `node` names, which must hold a value already.
  const BufferSpec& read_input(const YamlNode& node) const {
    const auto& [name, buffer] = find(node);
    if (!ready_.contains(name)) {
      node.fail(fmt::format("expected an input or the result of an operation before, found \"{}\"",
                            name));
    }
    return *buffer;
  }

  const BufferSpec& read_output(const YamlNode& node) {
    const auto& [name, buffer] = find(node);
    if (buffer->role != Role::out) {
      node.fail(fmt::format("expected a buffer with role out, found \"{}\"", name));
    }
    if (!ready_.insert(name).second) {
      node.fail(fmt::format("expected each output once, found \"{}\" again", name));
    }
    return *buffer;
  }

  /// The first output that no operation has computed, or nothing.
  std::optional<std::string> missing_output() const {
    for (const auto& [name, buffer] : buffers_) {
      if (buffer->role == Role::out && !ready_.contains(name)) return name;
    }
    return std::nullopt;
  }

 private:
  using Named = std::pair<std::string, const BufferSpec*>;

  const Named& find(const YamlNode& node) const {
    const std::string& name = node.text("the name of a buffer");
    const auto match = std::find_if(buffers_.begin(), buffers_.end(),
                                    [&](const Named& named) { return named.first == name; });
    if (match == buffers_.end()) {
      std::vector<std::string> known;
      for (const Named& named : buffers_) known.push_back(named.first);
      node.fail(fmt::format("expected the name of a buffer, found \"{}\"{}", name,
                            suggestion(name, known)));
    }
    return *match;
  }

  std::vector<Named> buffers_;
  std::set<std::string> ready_;
};

ReferenceSpec read_operation(const YamlNode& node, Operands& operands) {
  const auto& entries = node.map("an operation: {gemm: {a: A, b: B, out: C}}");
  if (entries.size() != 1) {
    node.fail(fmt::format("expected one operation in each item, found {}", entries.size()));
  }
  const YamlEntry& entry = entries.front();
  const auto& row = row_of(
      operations(), "operation",
      YamlNode::scalar(entry.where, entry.key).one_of("an operation", names_of(operations())));
  std::vector<std::string> required = row.inputs;
  required.push_back("out");
  const YamlMap map(*entry.value, fmt::format("the operation {}", row.name), required, row.options);

  ReferenceSpec spec{entry.key, {}, {}, entry.where};
  std::size_t rank = row.rank;
  for (const std::string& operand : required) {
    const YamlNode& name = map[operand];
    const BufferSpec& buffer =
        operand == "out" ? operands.read_output(name) : operands.read_input(name);
    if (rank == 0) rank = buffer.shape.size();
    if (buffer.shape.size() != rank) {
      name.fail(fmt::format("expected a buffer of {} dimensions, found \"{}\" with {}", rank,
                            name.text("a buffer"), buffer.shape.size()));
    }
    spec.operands[operand] = name.text("a buffer");
  }
  for (const std::string& option : row.options) {
    const YamlNode* value = map.find(option);
    spec.options[option] = value && value->boolean(option) ? 1 : 0;
  }
  return spec;
}

}  // namespace

std::vector<ReferenceSpec> read_reference(const YamlNode& node, const std::vector<ArgSpec>& args) {
  Operands operands(args);
  std::vector<ReferenceSpec> reference;
  for (const YamlPtr& item : node.list("a list of operations")) {
    reference.push_back(read_operation(*item, operands));
  }
  if (const auto missing = operands.missing_output()) {
    node.fail(fmt::format("expected an operation whose out is \"{}\", found none", *missing));
  }
  return reference;
}

std::vector<std::string> read_baseline(const YamlNode& node,
                                       const std::vector<ReferenceSpec>& reference) {
  std::vector<std::string> names;
  if (node.is_empty_list()) return names;
  for (const YamlPtr& item : node.list("a list of baselines")) {
    const auto& row =
        row_of(baselines(), "baseline", item->one_of("a baseline", names_of(baselines())));
    const auto computed =
        std::count_if(reference.begin(), reference.end(),
                      [&](const ReferenceSpec& spec) { return spec.operation == row.only; });
    if (computed != 1) {
      item->fail(
          fmt::format("expected exactly one {} in the reference for the baseline {}, found "
                      "{}",
                      row.only, row.name, computed));
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
