#include "report/launch_figures.h"

#include <algorithm>
#include <utility>

#include "report/entry_json.h"

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

std::vector<const LaunchFigures*> first_launches(const std::vector<LaunchFigures>& launches) {
  std::vector<const LaunchFigures*> first;
  for (const LaunchFigures& launch : launches) {
    const bool is_known = std::ranges::any_of(
        first, [&](const LaunchFigures* other) { return other->entry == launch.entry; });
    if (!is_known) first.push_back(&launch);
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
            {"registers", launch.registers > 0 ? Json(launch.registers) : Json(nullptr)},
            {"occupancy", occupancy},
            {"is_early", launch.is_early}};
  });
}

}  // namespace assay
