#include "report/compiled_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>

#include "report/table.h"

namespace assay {
namespace {

std::string range(const std::string& least, const std::string& most) {
  return least == most ? least : fmt::format("{} .. {}", least, most);
}

}  // namespace

std::string compiled_text(const std::vector<CompiledConfig>& configs, const Terminal& terminal) {
  std::vector<std::string> kernels;  // in the order in which they come
  for (const CompiledConfig& config : configs) {
    if (std::find(kernels.begin(), kernels.end(), config.kernel) == kernels.end()) {
      kernels.push_back(config.kernel);
    }
  }
  Table table({"kernel", ">configurations", ">registers", ">with spills", ">most spilled",
               ">shared memory of a block"});
  for (const std::string& kernel : kernels) {
    std::vector<CompiledConfig> own;
    std::copy_if(configs.begin(), configs.end(), std::back_inserter(own),
                 [&](const CompiledConfig& config) { return config.kernel == kernel; });
    const auto limits = [&own](const std::function<std::int64_t(const CompiledConfig&)>& value) {
      const auto [least, most] =
          std::minmax_element(own.begin(), own.end(),
                              [&](const auto& a, const auto& b) { return value(a) < value(b); });
      return std::pair(value(*least), value(*most));
    };
    const auto registers = limits([](const auto& one) { return one.compile.registers; });
    const auto smem = limits([](const auto& one) { return one.smem_bytes; });
    const auto spilled = limits([](const auto& one) { return one.compile.spill_bytes; }).second;
    const auto num_spilling = static_cast<std::size_t>(std::count_if(
        own.begin(), own.end(), [](const auto& one) { return one.compile.spill_bytes > 0; }));
    table.add_row(
        {kernel, format_count(own.size()),
         range(std::to_string(registers.first), std::to_string(registers.second)),
         format_count(num_spilling), spilled > 0 ? format_bytes(static_cast<double>(spilled)) : "-",
         range(format_bytes(static_cast<double>(smem.first)),
               format_bytes(static_cast<double>(smem.second)))},
        num_spilling > 0 ? Style::warning : Style::plain);
  }
  return table.text(terminal);
}

}  // namespace assay
