#include <limits>

#include "store/impl.h"
#include "store/trial_rows.h"

namespace assay {

bool answers(const TrialRow& row, const Question& question) {
  const TrialRecord& trial = row.record;
  return trial.kernel.op == question.op && trial.protocol.name == question.protocol &&
         trial.problem == question.problem && row.provenance == question.provenance &&
         row.device.name == question.device.name;
}

std::vector<TrialRow> Store::trials(const Filter& filter) const {
  static const std::string sql = select_trials(
      "substr(message, 1, 2000)",
      "(?1 = '' OR status = ?1) AND (?2 = '' OR EXISTS(SELECT 1 FROM sweep_trial AS link "
      "JOIN sweep ON sweep.id = link.sweep_id WHERE link.trial_id = trial.id AND "
      "sweep.name = ?2)) ORDER BY trial.id");
  Database& database = impl_->database;
  return impl_->read([&](const Dimensions& dimensions) {
    const Matcher matches(filter, dimensions);
    MeasurementReader measurements(database, 0, std::numeric_limits<std::int64_t>::max());
    std::vector<TrialRow> trials;
    for (Query query = database.query(sql, filter.status, filter.sweep); query.step();) {
      // Most rows of a narrow filter are left unread.
      if (!matches.device(query.integer(1)) || !matches.kernel(query.integer(2)) ||
          !matches.problem(query.integer(3))) {
        continue;
      }
      RowReader row(query);
      trials.push_back(read_short_trial(row, dimensions));
      trials.back().record.measurements = measurements.of(trials.back().id);
    }
    return trials;
  });
}

std::optional<TrialRow> Store::trial(std::int64_t id) const {
  Database& database = impl_->database;
  return impl_->read([&](const Dimensions& dimensions) {
    std::optional<TrialRow> trial = read_whole_trial(database, dimensions, id);
    if (!trial) return trial;
    Query sweep = database.query(
        "SELECT command_line FROM trial JOIN sweep ON sweep.id = sweep_id WHERE trial.id = ?", id);
    if (sweep.step()) trial->command_line = sweep.text(0);
    const auto verifications = read_verifications(database, dimensions);
    if (const auto found = verifications.find(id); found != verifications.end()) {
      trial->record.verification = found->second;
    }
    return trial;
  });
}

std::optional<TrialRecord> Store::find(std::int64_t sweep_id, const TrialKey& key) const {
  const auto state = impl_->database.guarded([&] { return impl_->state_of(sweep_id, key); });
  if (!state || !state->done()) return std::nullopt;
  std::optional<TrialRow> row = trial(state->id);
  if (!row) return std::nullopt;
  return std::move(row->record);
}

std::vector<BaselineRow> Store::baselines(const Filter& filter) const {
  return impl_->read([&](const Dimensions& dimensions) {
    return read_baselines(impl_->database, dimensions, Matcher(filter, dimensions), filter.sweep);
  });
}

std::vector<StoredSweep> Store::sweeps() const {
  Database& database = impl_->database;
  return impl_->read([&](const Dimensions& dimensions) {
    std::vector<StoredSweep> runs;
    for (Query query =
             database.query("SELECT id, name, state, started_at, device_id FROM sweep ORDER BY id");
         query.step();) {
      RowReader row(query);
      runs.push_back({row.integer(), row.text(), row.text(), row.text(),
                      dimensions.devices.at(row.integer()).info});
    }
    return runs;
  });
}

std::vector<RankRow> Store::ranks(const Filter& filter) const {
  Database& database = impl_->database;
  return impl_->read([&](const Dimensions& dimensions) {
    std::vector<RankRow> ranks;
    for (RankHead& head :
         read_rank_heads(database, dimensions, Matcher(filter, dimensions), filter.sweep)) {
      read_entries_unchecked(database, dimensions, head);
      const auto& entries = head.row.record.entries;
      const bool concerns =
          filter.kernel.empty() ||
          std::any_of(entries.begin(), entries.end(),
                      [&](const RankEntry& entry) { return entry.kernel == filter.kernel; });
      if (concerns) ranks.push_back(std::move(head.row));
    }
    return ranks;
  });
}

}  // namespace assay
