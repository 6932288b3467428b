#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/trial.h"

namespace assay {

/// A hardware counter, by the name that users and databases know it by.
struct CounterRow {
  std::string_view name;
  std::string_view metric;  // CUPTI's name of it
  std::string_view unit;    // empty for a count
  std::string_view set;     // which others it is asked for with
  std::string_view meaning;
  std::string_view rest = {};  // where it is set, the counter is the share of `metric` in both
};

/// All of them, the sets one after the other.
const std::vector<CounterRow>& counters();

bool is_counter(std::string_view name);

/// How far what is counted in two launches of the same code may be apart and mean nothing: 0.01 is
/// 1 %. 0 for what is no counter.
double counter_margin(std::string_view name);

/// Those of a set, of all sets if it is "all", or the one of that name. Empty for what is neither.
std::vector<CounterRow> counters_of(std::string_view set_or_name);

/// "memory", "compute", ..., "all"
std::vector<std::string> counter_sets();

/// CUPTI's names of what the counters of these names need. Throws Error for one that there is not.
std::vector<std::string> metrics_of(const std::vector<std::string>& names);

/// The counters of these names from the values of CUPTI's metrics. Those that lack a metric, or are
/// a share of nothing, are left out.
std::vector<Measurement> counters_from(const std::vector<std::string>& names,
                                       const std::map<std::string, double, std::less<>>& values);

}  // namespace assay
