// What does not need YAML: a program that launches tuned kernels has this, too.
#include "spec/kernel_spec.h"
#include "spec/kernel_parts.h"

#include <fmt/ranges.h>
#include <algorithm>

namespace assay {

bool is_symbol(const ArgSpec& arg) {
  const auto* buffer = std::get_if<BufferSpec>(&arg.form);
  return buffer && !buffer->symbol.empty();
}

bool has_member(const ArgSpec& arg, const std::string& name) {
  const auto* packed = std::get_if<StructSpec>(&arg.form);
  return packed && std::ranges::any_of(packed->members, [&](const StructSpec::Member& member) {
           return member.name == name;
         });
}

std::vector<std::size_t> passed_args(const KernelSpec& kernel) {
  std::vector<std::size_t> passed;
  for (std::size_t i = 0; i < kernel.args.size(); ++i) {
    const ArgSpec& arg = kernel.args[i];
    const bool is_member = std::ranges::any_of(
        kernel.args, [&](const ArgSpec& other) { return has_member(other, arg.name); });
    if (!is_symbol(arg) && !is_member) passed.push_back(i);
  }
  return passed;
}

std::vector<const LaunchSpec*> all_launches(const KernelSpec& kernel) {
  std::vector<const LaunchSpec*> all;
  for (const LaunchSpec& launch : kernel.launches) all.push_back(&launch);
  for (const LaunchSpec& launch : kernel.prepare) all.push_back(&launch);
  return all;
}

Config read_default_config(const YamlNode& node, const KernelSpec& spec) {
  const YamlMap map(node, "the default configuration", names_of(spec.params));
  Config config;
  for (const ParamSpec& param : spec.params) {
    const YamlNode& value = map[param.name];
    const std::string& text = value.text("a value of " + param.name);
    std::vector<std::string> texts;
    for (const Value& each : param.values) texts.push_back(to_text(each));
    const auto found = std::ranges::find(texts, text);
    if (found == texts.end()) {
      value.fail("expected one of {}, found {}", fmt::join(texts, ", "), text);
    }
    config.emplace_back(param.name, param.values[static_cast<std::size_t>(found - texts.begin())]);
  }
  return config;
}

Config load_default_config(const KernelSpec& kernel) {
  const YamlPtr root = load_yaml(kernel.yaml_path);
  const YamlNode* const otherwise = root->find("default");
  return otherwise != nullptr ? read_default_config(*otherwise, kernel) : Config();
}

}  // namespace assay
