#include "cli/cross_times.h"

#include <limits>
#include <string>
#include <unordered_map>

namespace assay {

MeasuredConfigs measured_configs(const TunedTable& table, const std::vector<TrialRow>& trials) {
  MeasuredConfigs measured;
  std::unordered_map<std::string, std::size_t> problems, configs;
  for (const TunedRow& entry : table.entries) {
    problems.emplace(to_text(entry.problem), problems.size());
    measured.times.problems.push_back(entry.problem);
    const bool is_library = entry.baseline.starts_with(kCublasLt);
    measured.times.library_ns.push_back(is_library ? entry.baseline_ns
                                                   : std::numeric_limits<double>::infinity());
    measured.times.first_ns.push_back(entry.first_ns > 0 ? entry.first_ns
                                                         : std::numeric_limits<double>::infinity());
  }
  const auto place_of = [&](const std::string& kernel, const Config& config) {
    const auto [at, is_new] = configs.emplace(kernel + ' ' + to_text(config), configs.size());
    if (is_new) measured.trials.emplace_back(problems.size());
    return at->second;
  };
  for (const TunedRow& entry : table.entries) {
    measured.winners.push_back(place_of(entry.best.kernel, entry.best.config));
  }
  for (const TrialRow& row : trials) {
    const TrialRecord& trial = row.record;
    if (trial.kernel.op != table.op || row.device.slug() != table.device.slug() ||
        trial.protocol.name != table.protocol || trial.outcome.status != Status::correct ||
        !trial.outcome.timing) {
      continue;
    }
    const auto problem = problems.find(to_text(trial.problem));
    if (problem == problems.end()) continue;
    measured.trials[place_of(trial.kernel.name, trial.config)][problem->second] = &row;
  }
  for (const auto& of_config : measured.trials) {
    std::vector<double>& time_ns = measured.times.time_ns.emplace_back();
    for (const TrialRow* trial : of_config) {
      time_ns.push_back(trial == nullptr ? std::numeric_limits<double>::infinity()
                                         : trial->record.outcome.timing->median_ns);
    }
  }
  return measured;
}

void choose_configs(TunedTable& table, const MeasuredConfigs& measured,
                    const std::vector<std::size_t>& chosen) {
  for (std::size_t i = 0; i < table.entries.size(); ++i) {
    const TrialRow* const trial = measured.trials[chosen[i]][i];
    if (trial == nullptr) continue;
    const TrialRecord& record = trial->record;
    TunedRow& entry = table.entries[i];
    entry.best = {record.kernel.name, record.config};
    entry.time_ns.value = record.outcome.timing->median_ns;
    entry.trial_id = trial->id;
    entry.version = record.kernel;
    entry.cubin_hash = record.compile.cubin_hash;
    entry.verification = record.verification;
  }
}

}  // namespace assay
