#include "report/tuned_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/stats.h"
#include "report/config_text.h"
#include "spec/vocabulary.h"

namespace assay {
namespace {

/// (op, device, protocol, objective): what makes a table.
using TableKey = std::tuple<std::string, std::string, std::string, Objective>;
/// (problem, provenance): what makes an entry.
using EntryKey = std::pair<std::string, std::string>;
/// (table, row): trials and verdicts that agree on it are about the same question.
using Key = std::pair<TableKey, EntryKey>;

Key key_of(const Question& asked, const Objective& objective = {}) {
  return {{asked.op, asked.device.slug(), asked.protocol, objective},
          {to_text(asked.problem), asked.provenance}};
}

std::string text_of(const KernelVersion& version) {
  return version.name + ' ' + version.source_hash + ' ' + version.contract_hash;
}

bool timed(const TrialRow& row) {
  return row.record.outcome.status == Status::correct && row.record.outcome.timing.has_value();
}

/// Nothing when every candidate failed its last check.
std::optional<TunedRow> entry_of(const RankRow& row) {
  const auto& entries = row.record.entries;
  const auto winner = std::ranges::find_if(entries, &RankEntry::winner);
  if (winner == entries.end()) return std::nullopt;
  TunedRow entry;
  entry.problem = row.record.problem;
  entry.best = {winner->kernel, parse_config(winner->config)};
  entry.trial_id = winner->trial_id;
  entry.rank_id = row.id;
  entry.rounds = row.record.rounds;
  if (row.record.noise) entry.noise_ratio = row.record.noise->margin_ratio();
  entry.time_ns = {winner->median_ns, -std::numeric_limits<double>::infinity(),
                   std::numeric_limits<double>::infinity()};
  if (!winner->samples_ns.empty()) entry.time_ns = median_interval(winner->samples_ns);
  entry.speedup = winner->speedup_over_baseline;
  entry.roofline_ns = winner->roofline_ns;
  entry.energy_j = winner->energy_j;
  entry.version = row.record.version_of(winner->kernel);
  entry.toolchain = row.record.toolchain;
  entry.precision_ratio = row.record.protocol.precision_ratio;
  entry.cublas = row.record.identity.cublas;
  entry.provenance = row.provenance;
  entry.finished_at = row.record.finished_at;
  for (const RankEntry& other : entries) {
    if (&other == &*winner || !other.failure.empty()) continue;
    if (other.kernel.empty()) {
      if (!other.is_rival()) continue;
      if (other.config == kCublasLtFirst) entry.first_ns = other.median_ns;
      if (entry.baseline.empty() || other.median_ns < entry.baseline_ns) {
        entry.baseline = other.config;
        entry.baseline_ns = other.median_ns;
        entry.cycles_speedup = other.cycles_ratio_to_best;
      }
    } else if (other.tied) {
      entry.ties.push_back({other.kernel, parse_config(other.config)});
    } else if (other.ratio_to_best.value > 0 &&
               (entry.runner_up_ratio == 0 || other.ratio_to_best.value < entry.runner_up_ratio)) {
      entry.runner_up_ratio = other.ratio_to_best.value;
    }
  }
  if (row.record.objective.is_word()) return entry;
  for (FrontEntry& one : pareto_front(row.record)) {
    entry.front.push_back(
        {{one.entry->kernel, parse_config(one.entry->config)}, std::move(one.achieved)});
  }
  return entry;
}

TunedRow entry_of(const TrialRow& row) {
  TunedRow entry;
  entry.problem = row.record.problem;
  entry.best = {row.record.kernel.name, row.record.config};
  entry.trial_id = row.id;
  entry.reranked = false;
  const Timing& timing = *row.record.outcome.timing;
  entry.time_ns = {timing.median_ns, timing.ci_low_ns, timing.ci_high_ns};
  entry.roofline_ns = timing.roofline_ns;
  entry.precision_ratio = row.record.protocol.precision_ratio;
  entry.provenance = row.provenance;
  entry.finished_at = row.record.finished_at;
  entry.version = row.record.kernel;
  entry.toolchain = row.record.toolchain;
  return entry;
}

/// The fastest trial of each question, of those that no verdict found to be wrong: where the last
/// check refused the fastest after it had left the others behind, the verdict has no winner.
std::map<Key, const TrialRow*> fastest_trials(const Results& results) {
  std::unordered_set<std::int64_t> refused;
  for (const RankRow& row : results.ranks) {
    for (const RankEntry& entry : row.record.entries) {
      if (!entry.failure.empty()) refused.insert(entry.trial_id);
    }
  }
  std::map<Key, const TrialRow*> fastest;
  for (const TrialRow& row : results.trials) {
    if (!timed(row) || refused.contains(row.id)) continue;
    const Key key = key_of(question_of(row));
    const TrialRow*& seen = fastest[key];
    if (!seen || row.record.outcome.timing->median_ns < seen->record.outcome.timing->median_ns) {
      seen = &row;
    }
  }
  return fastest;
}

struct Screening {
  std::unordered_map<std::string, double> median_ns;  // of some kernels and configurations
  double fastest_ns = std::numeric_limits<double>::infinity();
};

std::string name_of(const std::string& kernel, const Config& config) {
  return kernel + ' ' + to_text(config);
}

/// By problem, with the medians of the table's winners.
std::map<std::string, Screening> screenings_of(const TunedTable& table,
                                               const std::vector<TrialRow>& trials) {
  std::unordered_set<std::string> winners;
  for (const TunedRow& entry : table.entries) {
    winners.insert(name_of(entry.best.kernel, entry.best.config));
  }
  std::map<std::string, Screening> screenings;
  const TableKey key{table.op, table.device.slug(), table.protocol, Objective::time};
  for (const TrialRow& row : trials) {
    if (!timed(row) || key_of(question_of(row)).first != key) continue;
    const double median_ns = row.record.outcome.timing->median_ns;
    Screening& screening = screenings[to_text(row.record.problem)];
    screening.fastest_ns = std::min(screening.fastest_ns, median_ns);
    const std::string name = name_of(row.record.kernel.name, row.record.config);
    if (!winners.contains(name)) continue;
    const auto [at, added] = screening.median_ns.emplace(name, median_ns);
    if (!added) at->second = std::min(at->second, median_ns);
  }
  return screenings;
}

std::size_t best_compromise(const TunedTable& table, const std::vector<TrialRow>& trials) {
  if (table.entries.size() < 2) return 0;
  const std::map<std::string, Screening> screenings = screenings_of(table, trials);
  std::vector<const Screening*> problems;  // of the entries; null where there is none
  for (const TunedRow& entry : table.entries) {
    const auto found = screenings.find(to_text(entry.problem));
    problems.push_back(found == screenings.end() ? nullptr : &found->second);
  }
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < table.entries.size(); ++i) {
    const KernelConfig& choice = table.entries[i].best;
    const std::string name = name_of(choice.kernel, choice.config);
    double log_loss = 0;
    for (const Screening* problem : problems) {
      if (problem == nullptr || !problem->median_ns.contains(name)) {
        log_loss = std::numeric_limits<double>::infinity();
        break;
      }
      log_loss += std::log(problem->median_ns.at(name) / problem->fastest_ns);
    }
    if (log_loss < least) {
      least = log_loss;
      best = i;
    }
  }
  return best;
}

/// What outputs were compared with. It belongs to a kernel's version, whatever the configuration.
std::map<std::string, std::string> references_of(const std::vector<TrialRow>& trials) {
  std::map<std::string, std::string> references;
  for (const TrialRow& row : trials) {
    const std::optional<Validation>& validation = row.record.outcome.validation;
    if (!validation || validation->reference.empty()) continue;
    references.try_emplace(text_of(row.record.kernel), validation->reference);
  }
  return references;
}

/// Fills in what the trials of the winners say.
void read_trials(std::vector<TunedTable>& tables, const std::vector<TrialRow>& trials) {
  std::unordered_map<std::int64_t, const TrialRow*> rows;
  for (const TrialRow& row : trials) rows.emplace(row.id, &row);
  for (TunedTable& table : tables) {
    for (TunedRow& entry : table.entries) {
      const auto row = rows.find(entry.trial_id);
      if (row == rows.end()) continue;
      const TrialRecord& trial = row->second->record;
      entry.cubin_hash = trial.compile.cubin_hash;
      entry.verification = trial.verification;
      entry.prepared = trial.outcome.prepared;
    }
  }
}

void sort_entries(std::vector<TunedRow>& entries) {
  std::ranges::sort(entries, [](const TunedRow& a, const TunedRow& b) {
    if (problem_less(a.problem, b.problem)) return true;
    if (problem_less(b.problem, a.problem)) return false;
    return a.provenance < b.provenance;
  });
}

}  // namespace

std::string conditions_text(const TunedTable& table) {
  const std::string protocol = "protocol " + table.protocol;
  if (table.objective == Objective::time) return protocol;
  std::vector<std::string> parts = table.objective.parts();
  for (std::string& part : parts) {
    if (expression_begin(part) == 0) part = part == "edp" ? "least energy x time" : "least " + part;
  }
  return fmt::format("{}, {}", protocol, fmt::join(parts, " and "));
}

std::vector<TunedTable> tuned_tables(const Results& results, Screened screened) {
  std::map<TableKey, std::map<EntryKey, TunedRow>> tables;
  std::map<TableKey, DeviceInfo> devices;
  for (const RankRow& row : results.ranks) {
    std::optional<TunedRow> entry = entry_of(row);
    if (!entry) continue;
    const auto [table, question] = key_of(question_of(row), row.record.objective);
    devices[table] = row.device;
    auto& slot = tables[table];
    const auto [at, added] = slot.emplace(question, *entry);
    if (!added && at->second.finished_at < entry->finished_at) at->second = *entry;
  }

  const auto of_any_objective = [](const TableKey& a, const TableKey& b) {
    const auto [op, device, protocol, objective] = a;
    return b == TableKey(op, device, protocol, std::get<Objective>(b));
  };
  const auto has_verdict = [&](const Key& key) {
    return std::ranges::any_of(tables, [&](const auto& table) {
      return of_any_objective(key.first, table.first) && table.second.contains(key.second);
    });
  };
  if (screened == Screened::show) {
    for (const auto& [key, row] : fastest_trials(results)) {
      if (has_verdict(key)) continue;
      if (tables[key.first].emplace(key.second, entry_of(*row)).second) {
        devices.emplace(key.first, row->device);
      }
    }
  }

  for (const BaselineRow& row : results.baselines) {
    const auto [asked, question] = key_of(question_of(row));
    for (auto& [table, entries] : tables) {
      if (!of_any_objective(asked, table)) continue;
      const auto found = entries.find(question);
      if (found == entries.end()) continue;
      TunedRow& entry = found->second;
      const double median_ns = row.record.timing.median_ns;
      if (!entry.reranked && (entry.baseline.empty() || median_ns < entry.baseline_ns)) {
        entry.baseline = row.record.name;
        entry.baseline_ns = median_ns;
        entry.speedup = {median_ns / entry.time_ns.value, 0, 0};
      }
      if (entry.baseline == row.record.name) entry.baseline_detail = row.record.detail;
    }
  }

  const std::map<std::string, std::string> references = references_of(results.trials);
  std::vector<TunedTable> result;
  for (auto& [key, entries] : tables) {
    const auto& [op, device, protocol, objective] = key;
    TunedTable table{op, devices.at(key), protocol, objective, {}, 0};
    for (auto& [question, entry] : entries) {
      const auto known = references.find(text_of(entry.version));
      if (known != references.end()) entry.reference = known->second;
      table.entries.push_back(std::move(entry));
    }
    sort_entries(table.entries);
    table.fallback = best_compromise(table, results.trials);
    result.push_back(std::move(table));
  }
  read_trials(result, results.trials);
  return result;
}

bool TunedTrials::operator()(const TrialRow& row, const Results& results) {
  if (!named_) {
    named_.emplace();
    for (const RankRow& rank : results.ranks) {
      for (const RankEntry& entry : rank.record.entries) {
        if (!entry.kernel.empty()) named_->insert(entry.kernel + ' ' + entry.config);
      }
    }
  }
  const TrialRecord& trial = row.record;
  if (!named_->empty() && named_->contains(name_of(trial.kernel.name, trial.config))) return true;
  const auto& validation = trial.outcome.validation;
  if (validation && !validation->reference.empty() &&
      versions_.insert(text_of(trial.kernel)).second) {
    return true;
  }
  if (!timed(row)) return false;
  if (!question_ || !answers(row, *question_)) {
    question_ = question_of(row);
    fastest_ns_ = std::numeric_limits<double>::infinity();
  }
  const double median_ns = trial.outcome.timing->median_ns;
  if (!(median_ns < fastest_ns_)) return false;
  fastest_ns_ = median_ns;
  return true;
}

TunedTable unique_problems(TunedTable table, const std::vector<TrialRow>& trials) {
  std::map<std::string, TunedRow> kept;
  const auto better = [](const TunedRow& a, const TunedRow& b) {
    if (a.provenance.empty() != b.provenance.empty()) return a.provenance.empty();
    return a.finished_at > b.finished_at;
  };
  for (TunedRow& entry : table.entries) {
    const auto [at, added] = kept.emplace(to_text(entry.problem), entry);
    if (!added && better(entry, at->second)) at->second = entry;
  }
  table.entries.clear();
  for (auto& [problem, entry] : kept) table.entries.push_back(std::move(entry));
  sort_entries(table.entries);
  table.fallback = best_compromise(table, trials);
  return table;
}

void keep_checked(std::vector<TrialRow>& trials, const std::vector<RankRow>& ranks,
                  const std::vector<TrialRow>& wrong) {
  const auto on = [](const DeviceInfo& device, const std::string& kernel,
                     const std::string& config) {
    return device.slug() + ' ' + kernel + ' ' + config;
  };
  const auto name = [&](const TrialRow& row) {
    return on(row.device, row.record.kernel.name, to_text(row.record.config));
  };
  std::unordered_set<std::string> checked, refused;
  for (const RankRow& row : ranks) {
    for (const RankEntry& entry : row.record.entries) {
      if (!entry.failure.empty()) refused.insert(on(row.device, entry.kernel, entry.config));
      if (!entry.eliminated) checked.insert(on(row.device, entry.kernel, entry.config));
    }
  }
  for (const TrialRow& row : wrong) refused.insert(name(row));
  std::erase_if(trials, [&](const TrialRow& row) {
    return !checked.contains(name(row)) || refused.contains(name(row));
  });
}

}  // namespace assay
