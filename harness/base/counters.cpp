#include "base/counters.h"

#include "base/error.h"
#include "base/find_named.h"

namespace assay {
namespace {

/// A name that is none of ours is CUPTI's own, all of which have two underscores. The row's texts
/// may be those of `name`.
CounterRow counter_named(const std::string& name) {
  if (const CounterRow* const row = find_named(counters(), name)) return *row;
  if (name.find("__") == name.npos) throw Error("there is no counter \"{}\"", name);
  return {name, name, "", "", "as CUPTI counts it"};
}

}  // namespace

const std::vector<CounterRow>& counters() {
  static const std::vector<CounterRow> rows = {
      {"dram_read", "dram__bytes_read.sum", "B", "memory", "read from memory"},
      {"dram_write", "dram__bytes_write.sum", "B", "memory", "written to memory"},
      // CUPTI has a rate of its own. It divides hits by what was asked for in another launch, which
      // for a short one exceeded 100 %.
      {"l2_hits", "lts__t_sectors_lookup_hit.sum", "%", "memory", "of what L2 was asked for",
       "lts__t_sectors_lookup_miss.sum"},
      {"l2_to_sm", "l1tex__m_xbar2l1tex_read_bytes.sum", "B", "memory", "brought from L2 to SMs"},
      {"l2_atomic_cycles", "lts__d_atomic_input_cycles_active.max", "", "memory",
       "cycles with an atomic operation, of that part of L2 that has most"},
      {"instructions", "sm__inst_executed.sum", "", "compute", "executed by warps"},
      {"tensor_instructions", "sm__inst_executed_pipe_tensor.sum", "", "compute",
       "of those, on tensor cores"},
      {"sm_cycles", "sm__cycles_active.avg", "", "compute",
       "cycles in which an SM works, on average"},
      {"tensor_busy", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "%",
       "compute", "of the time that SMs work"},
      {"fma_busy", "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active", "%", "compute",
       "likewise, the units for multiply-adds"},
      {"integer_busy", "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active", "%",
       "compute", "likewise, those for integers and logic"},
      {"special_busy", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active", "%", "compute",
       "likewise, those for roots, sines and conversions"},
      {"shared_busy", "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_active",
       "%", "compute", "likewise, shared memory"},
      {"l1_busy", "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active", "%",
       "compute", "likewise, L1 as a whole, of which shared memory is a part"},
      {"issue_busy", "sm__issue_active.avg.pct_of_peak_sustained_active", "%", "compute",
       "of the slots that could issue"},
      {"occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active", "%", "compute",
       "of the warps that an SM can hold"},
      {"bank_conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "", "compute",
       "of accesses to shared memory"},
      {"stalled_memory", "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
       "", "stalls", "warps that wait for L2 or memory, for each instruction that is issued"},
      {"stalled_memory_queue",
       "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio", "", "stalls",
       "likewise, to ask for it, since too much is asked for"},
      {"stalled_shared",
       "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio", "", "stalls",
       "for shared memory"},
      {"stalled_shared_queue",
       "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio", "", "stalls",
       "to ask for it, or for a special function"},
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

bool is_counter(std::string_view name) { return find_named(counters(), name) != nullptr; }

// The 26 configurations of sweeps/questions.yaml were counted in three sweeps on an H200. From
// sweep to sweep dram_read differed by 0.01 % (median; 1.3 % at most), instructions, of which warps
// that wait carry out more, by 0.1 % (0.5 %), l2_hits by 1 % (5 %), issue_busy and sm_cycles by 2 %
// (14 %), and dram_write, which is what leaves L2 before the launch ends, by 9 % (48 %, of half a
// MiB).
double counter_margin(std::string_view name) {
  constexpr double kCount = 0.01, kShare = 0.05, kWritten = 0.15;
  if (name == "dram_write") return kWritten;
  if (name == "sm_cycles") return kShare;
  const CounterRow* const row = find_named(counters(), name);
  if (row == nullptr) return 0;
  return row->unit == "%" || row->set == "stalls" ? kShare : kCount;
}

std::vector<CounterRow> counters_of(std::string_view set_or_name) {
  std::vector<CounterRow> found = counters();
  std::erase_if(found, [&](const CounterRow& row) {
    return set_or_name != "all" && row.set != set_or_name && row.name != set_or_name;
  });
  return found;
}

std::vector<std::string> counter_sets() {
  std::vector<std::string> sets;
  for (const CounterRow& row : counters()) add_once(sets, std::string(row.set));
  sets.emplace_back("all");
  return sets;
}

std::vector<std::string> metrics_of(const std::vector<std::string>& names) {
  std::vector<std::string> metrics;
  for (const std::string& name : names) {
    const CounterRow row = counter_named(name);
    metrics.emplace_back(row.metric);
    if (!row.rest.empty()) metrics.emplace_back(row.rest);
  }
  return metrics;
}

std::vector<Measurement> counters_from(const std::vector<std::string>& names,
                                       const std::map<std::string, double, std::less<>>& values) {
  std::vector<Measurement> counted;
  for (const std::string& name : names) {
    const CounterRow row = counter_named(name);
    const auto of = values.find(row.metric), rest = values.find(row.rest);
    if (of == values.end() || (!row.rest.empty() && rest == values.end())) continue;
    double value = of->second;
    if (!row.rest.empty()) {
      const double whole = value + rest->second;
      if (whole <= 0) continue;
      value = 100 * value / whole;
    }
    counted.push_back({name, value, std::string(row.unit)});
  }
  return counted;
}

}  // namespace assay
