#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "spec/kernel_parts.h"
#include "spec/keys.h"
#include "spec/problems.h"

namespace assay {
namespace {

/// 80, or "90a": two or three digits and the letter of a variant.
std::vector<std::string> read_arch(const YamlNode& node) {
  std::vector<std::string> arch;
  for (const YamlPtr& item : node.list("a list of compute capabilities")) {
    constexpr std::string_view kWhat = "a compute capability such as 80 or 90a";
    const std::string& text = item->text(kWhat);
    std::string_view digits = text;
    if (digits.ends_with('a') || digits.ends_with('f')) digits.remove_suffix(1);
    if (!std::ranges::all_of(digits, is_digit) || digits.size() < 2 || digits.size() > 3 ||
        digits[0] == '0') {
      item->fail_expected(kWhat);
    }
    if (std::ranges::count(arch, text) > 0) item->fail("duplicate compute capability {}", text);
    arch.push_back(text);
  }
  return arch;
}

/// The name of an input, which launches of `prepare` may read.
const std::string& read_input(const YamlNode& node, const KernelSpec& spec) {
  const std::string& name = node.text("the name of an input");
  const auto is_it = [&](const ArgSpec& arg) {
    const auto* buffer = std::get_if<BufferSpec>(&arg.form);
    return arg.name == name && buffer && buffer->role == Role::in;
  };
  if (std::ranges::none_of(spec.args, is_it)) node.fail_expected("the name of an input");
  return name;
}

/// The keys of an op's file and of a contract, put together.
MapKeys merged_keys() {
  MapKeys keys = kKernelKeys;
  keys.optional.insert(keys.optional.end(), {"may_prepare", "problems"});
  return keys;
}

Problem read_smoke(const YamlNode& node, const KernelSpec& spec) {
  std::vector<std::string> traits;
  for (const auto& [name, value] : spec.traits) traits.push_back(name);
  const YamlMap map(node, "the smoke problem", spec.dims, traits);
  Problem problem;
  for (const std::string& dim : spec.dims) problem.emplace_back(dim, read_size(map[dim]));
  for (const auto& [name, otherwise] : spec.traits) {
    const YamlNode* value = map.find(name);
    problem.emplace_back(name, value ? read_trait(*value) : otherwise);
  }
  return problem;
}

}  // namespace

bool runs_on(const KernelSpec& kernel, int cc) {
  return std::ranges::any_of(kernel.arch, [cc](const std::string& arch) {
    const int number = std::stoi(arch);
    if (arch.back() == 'f') return number <= cc && number / 10 == cc / 10;
    return arch.back() == 'a' ? number == cc : number <= cc;
  });
}

std::filesystem::path folder_at(const KernelSpec& kernel, const Location& where) {
  const std::filesystem::path ops = kernel.op_path.parent_path();  // an op may be like another
  const bool is_of_op = !kernel.op_path.empty() && where.source->path.parent_path() == ops;
  return is_of_op ? ops.parent_path() : kernel.yaml_path.parent_path();
}

KernelSpec read_kernel(const Contract& contract, const std::filesystem::path& yaml_path,
                       const std::string& name) {
  const YamlMap map(*contract.root, contract.op_path.empty() ? kKernelKeys : merged_keys());
  KernelSpec spec;
  spec.yaml_path = yaml_path;
  spec.op_path = contract.op_path;
  spec.name = name;
  spec.source_path = yaml_path.parent_path() / (name + ".cu");
  if (!std::filesystem::exists(spec.source_path)) {
    spec.source_path = std::filesystem::path(yaml_path).replace_extension(".cu");
  }
  const std::string& given = map["kernel"].identifier("the name of a kernel");
  spec.op = map["op"].identifier("the name of an op");
  map.read("summary", spec.summary, &YamlNode::text, "a sentence");
  spec.arch = read_arch(map["arch"]);
  read_names(map, spec);
  map.read("compile", spec.compile, read_compile, spec);
  if (const YamlNode* constraints = map.find("constraints")) {
    const auto& items = constraints->list("a list of constraints");
    if (items.size() > kMaxConstraints) {
      constraints->fail("expected at most {} constraints, found {}", kMaxConstraints, items.size());
    }
    for (const YamlPtr& item : items) spec.constraints.push_back(read_expr(*item, spec.symbols));
  }
  spec.args = read_args(map["args"], spec);
  read_fills(map["args"], spec);
  spec.launches = read_launches(map["launches"], spec, map["args"].where());
  if (const YamlNode* inputs = map.find("may_prepare")) {
    for (const YamlPtr& input : inputs->list("a list of inputs")) {
      spec.may_prepare.push_back(read_input(*input, spec));
    }
  }
  map.read("prepare", spec.prepare, read_prepare, spec);
  check_prepared(map["args"], spec);
  const YamlMap work(map["work"], kWorkKeys);
  spec.flops = read_expr(work["flops"], spec.symbols);
  spec.bytes = read_expr(work["bytes"], spec.symbols);
  spec.reference = read_reference(map["reference"], spec);
  map.read("baseline", spec.baseline, read_baseline, spec);
  map.read("tolerance", spec.tolerance, read_tolerance);
  map.read("deterministic", spec.deterministic, &YamlNode::boolean, "deterministic");
  spec.smoke = read_smoke(map["smoke"], spec);
  const ProblemNames names{spec.dims, {spec.traits.begin(), spec.traits.end()}};
  map.read("problems", spec.problems, read_problems, names);
  if (const YamlNode* otherwise = map.find("default")) read_default_config(*otherwise, spec);
  spec.contract_hash = contract_hash(spec);

  const std::string stem = yaml_path.stem().string();
  if (given != stem) {
    map["kernel"].fail("expected \"{}\", the name of the file, found \"{}\"", stem, given);
  }
  if (!std::filesystem::is_regular_file(spec.source_path)) {
    map["kernel"].fail("expected the source {} beside this file, found none",
                       spec.source_path.filename().string());
  }
  return spec;
}

}  // namespace assay
