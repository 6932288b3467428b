#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// A hardware counter, by the name that users and databases know it by.
struct CounterRow {
  std::string_view name;
  std::string_view metric;  // CUPTI's name of it
  std::string_view unit;    // empty for a count
  std::string_view set;     // which others it is asked for with
  std::string_view meaning;
};

/// All of them, the sets one after the other.
const std::vector<CounterRow>& counters();

/// Those of a set; of all sets if it is "all". Empty for a set that there is not.
std::vector<CounterRow> counters_of(std::string_view set);

/// "memory", "compute", ..., "all"
std::vector<std::string> counter_sets();

}  // namespace assay
