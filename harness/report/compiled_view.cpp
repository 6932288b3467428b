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
    if (std::ranges::find(kernels, config.kernel) == kernels.end()) {
      kernels.push_back(config.kernel);
    }
  }
  Table table({"kernel", ">configurations", ">registers", ">with spills", ">most spilled",
               ">shared memory of a block", ">blocks an SM"});
  for (const std::string& kernel : kernels) {
    std::vector<CompiledConfig> own;
    std::ranges::copy_if(configs, std::back_inserter(own),
                         [&](const CompiledConfig& config) { return config.kernel == kernel; });
    // Between what it lies, where it is known of all.
    const auto range_of = [&own](const auto& value, const auto& to_text) -> std::string {
      std::optional<double> least, most;
      for (const CompiledConfig& config : own) {
        const std::optional<double> known = std::invoke(value, config);
        if (!known) return "-";
        least = std::min(least.value_or(*known), *known);
        most = std::max(most.value_or(*known), *known);
      }
      return range(to_text(*least), to_text(*most));
    };
    const auto count_text = [](double count) { return fmt::format("{:.0f}", count); };
    const auto registers = [](const CompiledConfig& config) {
      return std::optional<double>(config.compile.registers);
    };
    const int spilled = std::ranges::max_element(own, [](const auto& a, const auto& b) {
                          return a.compile.spill_bytes < b.compile.spill_bytes;
                        })->compile.spill_bytes;
    const auto num_spilling = static_cast<std::size_t>(
        std::ranges::count_if(own, [](const auto& one) { return one.compile.spill_bytes > 0; }));
    table.add_row({kernel, format_count(own.size()), range_of(registers, count_text),
                   format_count(num_spilling), spilled > 0 ? format_bytes(spilled) : "-",
                   range_of(&CompiledConfig::smem_bytes, format_bytes),
                   range_of(&CompiledConfig::blocks_per_sm, count_text)},
                  num_spilling > 0 ? Style::warning : Style::plain);
  }
  return table.text(terminal);
}

}  // namespace assay
