// What does not need YAML: a program that launches tuned kernels has this, too.
#include "spec/kernel_spec.h"

#include <algorithm>

namespace assay {

bool is_symbol(const ArgSpec& arg) {
  const auto* buffer = std::get_if<BufferSpec>(&arg.form);
  return buffer && !buffer->symbol.empty();
}

bool has_member(const ArgSpec& arg, const std::string& name) {
  const auto* packed = std::get_if<StructSpec>(&arg.form);
  return packed &&
         std::any_of(packed->members.begin(), packed->members.end(),
                     [&](const StructSpec::Member& member) { return member.name == name; });
}

std::vector<std::size_t> passed_args(const KernelSpec& kernel) {
  std::vector<std::size_t> passed;
  for (std::size_t i = 0; i < kernel.args.size(); ++i) {
    const ArgSpec& arg = kernel.args[i];
    const bool is_member =
        std::any_of(kernel.args.begin(), kernel.args.end(),
                    [&](const ArgSpec& other) { return has_member(other, arg.name); });
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

}  // namespace assay
