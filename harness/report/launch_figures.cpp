#include "report/launch_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>

#include "base/find_named.h"
#include "report/entry_json.h"
#include "report/table.h"

namespace assay {

const KernelLimits* CompiledEntries::find(const std::string& entry) const {
  const auto symbol = symbols.find(entry);
  const auto found = limits.find(symbol == symbols.end() ? entry : symbol->second);
  return found == limits.end() ? nullptr : &found->second;
}

std::vector<LaunchFigures> launch_figures(const Plan& plan, int cc, const CompiledEntries& entries,
                                          const std::optional<CompileReport>& report) {
  const bool is_alone = std::ranges::all_of(plan.launches, [&](const LaunchPlan& launch) {
    return launch.entry == plan.launches.front().entry;
  });
  std::vector<LaunchFigures> launches;
  for (const LaunchPlan& launch : plan.launches) {
    LaunchFigures of{launch.entry, launch.grid[0] * launch.grid[1] * launch.grid[2],
                     launch.block[0] * launch.block[1] * launch.block[2]};
    of.smem_bytes = launch.smem_bytes;
    of.is_early = launch.early;
    if (const KernelLimits* entry = entries.find(launch.entry)) {
      of.smem_bytes += static_smem_bytes(*entry, cc);
      of.registers = entry->registers;
    } else if (report && is_alone) {
      of.smem_bytes += report->static_smem_bytes;
      of.registers = report->registers;
    }
    of.occupancy = occupancy_of(cc, of.threads, of.registers, of.smem_bytes);
    launches.push_back(std::move(of));
  }
  return launches;
}

std::vector<LaunchFigures> first_launches(const std::vector<LaunchFigures>& launches) {
  std::vector<LaunchFigures> first;
  for (const LaunchFigures& launch : launches) {
    const auto known = std::ranges::find(first, launch.entry, &LaunchFigures::entry);
    if (known == first.end()) first.push_back(launch);
  }
  return first;
}

Json launches_json(const std::vector<LaunchFigures>& launches) {
  return json_list(launches, [](const LaunchFigures& launch) -> Json {
    Json occupancy(nullptr);
    if (const auto& of = launch.occupancy) {
      occupancy = {
          {"blocks_per_sm", of->blocks}, {"limit", of->limit}, {"thread_ratio", of->ratio}};
    }
    return {{"entry", launch.entry},
            {"blocks", launch.blocks},
            {"threads", launch.threads},
            {"smem_bytes", launch.smem_bytes},
            {"registers", count_or_null(launch.registers)},
            {"occupancy", occupancy},
            {"is_early", launch.is_early}};
  });
}

std::string compiled_text(const std::vector<CompiledConfig>& configs, const Terminal& terminal) {
  std::vector<std::string> kernels;  // in the order in which they come
  for (const CompiledConfig& config : configs) add_once(kernels, config.kernel);
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
      const std::string low = to_text(*least), high = to_text(*most);
      return low == high ? low : low + " .. " + high;
    };
    const auto bytes_text = [](double bytes) { return format_bytes(bytes); };
    const auto count_text = [](double count) { return fmt::format("{:.0f}", count); };
    const auto registers = [](const CompiledConfig& config) {
      return std::optional<double>(config.compile.registers);
    };
    int spilled = 0;
    std::size_t num_spilling = 0;
    for (const CompiledConfig& config : own) {
      spilled = std::max(spilled, config.compile.spill_bytes);
      if (config.compile.spill_bytes > 0) ++num_spilling;
    }
    table.add_row({kernel, format_count(own.size()), range_of(registers, count_text),
                   format_count(num_spilling), spilled > 0 ? format_bytes(spilled) : "-",
                   range_of(&CompiledConfig::smem_bytes, bytes_text),
                   range_of(&CompiledConfig::blocks_per_sm, count_text)},
                  num_spilling > 0 ? Style::warning : Style::plain);
  }
  return table.text(terminal);
}

}  // namespace assay
