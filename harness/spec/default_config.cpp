#include "spec/default_config.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "spec/kernel_parts.h"

namespace assay {

Config read_default_config(const YamlNode& node, const KernelSpec& spec) {
  std::vector<std::string> params;
  for (const ParamSpec& param : spec.params) params.push_back(param.name);
  const YamlMap map(node, "the default configuration", params);
  Config config;
  for (const ParamSpec& param : spec.params) {
    const YamlNode& value = map[param.name];
    const std::string& text = value.text("a value of " + param.name);
    std::vector<std::string> texts;
    for (const Value& each : param.values) texts.push_back(to_text(each));
    const auto found = std::find(texts.begin(), texts.end(), text);
    if (found == texts.end()) {
      value.fail(fmt::format("expected one of {}, found {}", fmt::join(texts, ", "), text));
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
