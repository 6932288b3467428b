#pragma once

#include <string>
#include <vector>

#include "pack/cover.h"
#include "report/tuned_table.h"
#include "store/store.h"

namespace assay {

/// A table, and what other configurations and problems say of each row.
struct CrossTable {
  TunedTable table;
  std::vector<double> regrets = {};                     // PackRow::regret
  std::vector<std::vector<std::size_t>> fast_for = {};  // PackRow::fast_for, by places in the table

  /// Sets these two: the rows have the chosen configurations.
  void compare(const CrossTimes& times, const std::vector<std::size_t>& chosen);
};

/// Compiles the winners for each of `archs`, by default for the GPU of their table, and writes them
/// as a pack. Says which winners are left out, and why. Returns a line that says what the pack has.
/// Throws UsageError where no winner is left.
std::string export_pack(const std::vector<CrossTable>& tables, const Store& store,
                        const std::vector<std::string>& archs, const std::string& output);

/// Prints what a pack has. Throws UsageError for a damaged one.
int list_pack(const std::string& path, bool json);

/// What was measured of configurations for the problems of a table: the medians of a re-rank, which
/// noise changes less, or else the screening's, over the winner's there.
struct MeasuredConfigs {
  /// Of each configuration and problem, as in `times`; null: not measured.
  std::vector<std::vector<const TrialRow*>> trials;
  CrossTimes times;
  /// The configuration of each row. Of one that was not measured nothing else is known.
  std::vector<std::size_t> winners;
};

/// Takes the newest trial of each. What is returned points into `results`.
MeasuredConfigs measured_configs(const TunedTable& table, const Results& results);

/// Gives each row the configuration, with what its trial says of it.
void choose_configs(TunedTable& table, const MeasuredConfigs& measured,
                    const std::vector<std::size_t>& chosen);

}  // namespace assay
