#include "base/counters.h"

#include <algorithm>

namespace assay {

const std::vector<CounterRow>& counters() {
  static const std::vector<CounterRow> rows = {
      {"dram_read", "dram__bytes_read.sum", "B", "memory", "read from memory"},
      {"dram_write", "dram__bytes_write.sum", "B", "memory", "written to memory"},
      {"l2_hits", "lts__t_sector_hit_rate.pct", "%", "memory", "of what L2 was asked for"},
      {"l2_to_sm", "l1tex__m_xbar2l1tex_read_bytes.sum", "B", "memory", "brought from L2 to SMs"},
      {"instructions", "sm__inst_executed.sum", "", "compute", "executed by warps"},
      {"tensor_instructions", "sm__inst_executed_pipe_tensor.sum", "", "compute",
       "of those, on tensor cores"},
      {"tensor_busy", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "%",
       "compute", "of the time that SMs work"},
      {"issue_busy", "sm__issue_active.avg.pct_of_peak_sustained_active", "%", "compute",
       "of the slots that could issue"},
      {"occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active", "%", "compute",
       "of the warps that an SM can hold"},
      {"bank_conflicts", "l1tex__data_bank_conflicts_pipe_lsu.sum", "", "compute",
       "of accesses to shared memory"},
      {"stalled_memory", "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
       "", "stalls", "warps that wait for L2 or memory, for each instruction that is issued"},
      {"stalled_shared",
       "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio", "", "stalls",
       "likewise, for shared memory"},
      {"stalled_barrier", "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "",
       "stalls", "at a barrier"},
      {"stalled_math",
       "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio", "", "stalls",
       "for a unit that computes"},
      {"stalled_dependency", "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", "",
       "stalls", "for the instruction before"},
  };
  return rows;
}

std::vector<CounterRow> counters_of(std::string_view set) {
  std::vector<CounterRow> found;
  for (const CounterRow& row : counters()) {
    if (set == "all" || row.set == set) found.push_back(row);
  }
  return found;
}

std::vector<std::string> counter_sets() {
  std::vector<std::string> sets;
  for (const CounterRow& row : counters()) {
    if (std::find(sets.begin(), sets.end(), row.set) == sets.end()) sets.emplace_back(row.set);
  }
  sets.emplace_back("all");
  return sets;
}

}  // namespace assay
