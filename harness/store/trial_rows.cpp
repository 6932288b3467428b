#include "store/trial_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "ranking/claims.h"
#include "store/impl.h"
#include "store/row_fields.h"

namespace assay {
namespace {

/// Every row of baselines or verdicts that matches, oldest first. `age` is its column or a number.
template <class Record>
std::vector<Stored<Record>> read_all(const Dimensions& dimensions, const Filter& filter,
                                     std::string_view age, std::string_view join) {
  static const std::string sql = fmt::format(
      "SELECT {0}.id, sweep_id, {0}.device_id, {0}.problem_id, {1}, {0}.op, {2} FROM {0} {3} "
      "JOIN sweep ON sweep.id = sweep_id WHERE ?1 = '' OR sweep.name = ?1 ORDER BY {0}.id",
      kTable<Record>, age, column_list<Record>(), join);
  const Matcher matches(filter, dimensions);
  std::vector<Stored<Record>> all;
  for (Query row = dimensions.database.query(sql, filter.sweep); row.step();) {
    const std::int64_t id = row.integer();
    Stored<Record> stored{row.integer(), row.integer(), row.integer(), row.integer()};
    if (!matches.device(stored.device) || !matches.op(row.text()) ||
        !matches.problem(stored.problem)) {
      continue;
    }
    const StoredDevice& device = dimensions.devices.at(stored.device);
    stored.row = {id, device.info, device.provenance, read_record<Record>(row, &dimensions)};
    all.push_back(std::move(stored));
  }
  return all;
}

}  // namespace

Matcher::Matcher(const Filter& filter, const Dimensions& dimensions) : filter_(filter) {
  const Problem wanted = parse_problem(filter.problem);
  for (const auto& [id, device] : dimensions.devices) {
    if (filter.device.empty() || device.info.is_called(filter.device)) devices_.insert(id);
  }
  for (const auto& [id, problem] : dimensions.problems) {
    const auto has = [&problem](const auto& dim) {
      return std::ranges::find(problem, dim) != problem.end();
    };
    if (std::ranges::all_of(wanted, has)) problems_.insert(id);
  }
  for (const auto& [id, kernel] : dimensions.kernels) {
    if ((filter.op.empty() || filter.op == kernel.op) &&
        (filter.kernel.empty() || filter.kernel == kernel.name)) {
      kernels_.insert(id);
      ops_.insert(kernel.op);
    }
  }
}

bool Matcher::op(const std::string& op) const {
  if (!filter_.op.empty() && filter_.op != op) return false;
  return filter_.kernel.empty() || ops_.contains(op);
}

std::string select_trials(std::string_view message, std::string_view where, std::string_view more) {
  constexpr std::string_view kMessage = "trial.message";
  std::string columns = column_list<TrialRecord>();
  columns.replace(columns.find(kMessage), kMessage.size(), message);
  return fmt::format(
      "SELECT trial.id, device_id, kernel_id, problem_id, {}{} FROM trial "
      "JOIN config ON config.id = config_id LEFT JOIN validation ON trial_id = trial.id "
      "LEFT JOIN timing ON timing.id = timing_id WHERE status <> 'running' AND {}",
      columns, more, where);
}

TrialRow read_unchecked(Query& row, const Dimensions& dimensions) {
  TrialRow trial;
  trial.id = row.integer();
  const StoredDevice& device = dimensions.devices.at(row.integer());
  trial.device = device.info;
  trial.provenance = device.provenance;
  row.skip(2);
  trial.record = read_record<TrialRecord>(row, &dimensions);
  return trial;
}

TrialRow read_trial(Query& row, const Dimensions& dimensions) {
  TrialRow trial = read_unchecked(row, dimensions);
  trial.record =
      supported(std::move(trial.record), [&trial] { return fmt::format("trial {}", trial.id); });
  return trial;
}

TrialRow read_short_trial(Query& row, const Dimensions& dimensions) {
  TrialRow trial = read_trial(row, dimensions);
  if (auto& timing = trial.record.outcome.timing) {
    timing->samples_ns = {};
    timing->clocks_mhz = {};
  }
  return trial;
}

std::optional<TrialRow> read_whole_trial(const Dimensions& dimensions, std::int64_t id) {
  static const std::string sql = select_trials("trial.message", "trial.id = ?");
  Query row = dimensions.database.query(sql, id);
  if (!row.step()) return std::nullopt;
  TrialRow trial = read_trial(row, dimensions);
  trial.record.measurements = read_measurements(dimensions.database, id);
  return trial;
}

std::vector<Measurement> read_measurements(Database& database, std::int64_t trial_id) {
  return MeasurementReader(database, trial_id, trial_id).of(trial_id);
}

MeasurementReader::MeasurementReader(Database& database, std::int64_t first, std::int64_t last)
    : rows_(database.query("SELECT trial_id, name, value, unit FROM measurement WHERE trial_id "
                           "BETWEEN ? AND ? ORDER BY trial_id, name",
                           first, last)) {
  is_any_ = rows_.step();
}

std::vector<Measurement> MeasurementReader::of(std::int64_t trial_id) {
  std::vector<Measurement> measurements;
  for (; is_any_ && rows_.integer(0) <= trial_id; is_any_ = rows_.step()) {
    if (rows_.integer() != trial_id) continue;
    measurements.push_back(supported(read_record<Measurement>(rows_), [&] {
      return fmt::format("a measurement of trial {}", trial_id);
    }));
  }
  return measurements;
}

std::map<std::int64_t, Verification> read_verifications(const Dimensions& dimensions) {
  std::map<std::int64_t, Verification> verifications;
  for (Query query = dimensions.database.query(
           "SELECT trial_id, toolchain_id, finished_at FROM verification");
       query.step();) {
    verifications[query.integer(0)] = {
        {}, dimensions.toolchains.at(query.integer(1)), query.text(2)};
  }
  static const std::string sql =
      fmt::format("SELECT trial_id, {} FROM verification_check ORDER BY trial_id, position",
                  column_list<VerificationCheck>());
  for (Query row = dimensions.database.query(sql); row.step();) {
    std::vector<VerificationCheck>& checks = verifications[row.integer()].checks;
    checks.push_back(read_record<VerificationCheck>(row));
  }
  for (auto& [id, verification] : verifications) {
    verification = supported(std::move(verification), [trial = id] {
      return fmt::format("the verification of trial {}", trial);
    });
  }
  return verifications;
}

std::vector<RankHead> read_rank_heads(const Dimensions& dimensions, const Filter& filter) {
  return read_all<RankRecord>(dimensions, filter, "1", "");
}

void read_entries(const Dimensions& dimensions, RankHead& head) {
  std::string wrong = read_entries_unchecked(dimensions, head);
  if (wrong.empty()) wrong = contradiction(head.row.record);
  if (wrong.empty()) return;
  const RankRecord& record = head.row.record;
  throw DamagedRow("the verdict on {} {} of {}: {}", record.op, to_text(record.problem),
                   record.finished_at, wrong);
}

std::string read_entries_unchecked(const Dimensions& dimensions, RankHead& head) {
  RankRecord& record = head.row.record;
  std::string wrong;
  std::set<std::int64_t> kernels;
  static const std::string entries = fmt::format(
      "SELECT kernel_id, registers, spill_bytes, trial_id, {} FROM rank_entry "
      "LEFT JOIN trial ON trial.id = trial_id WHERE rank_id = ? ORDER BY position",
      column_list<RankEntry>());
  for (Query row = dimensions.database.query(entries, head.row.id); row.step();) {
    const bool has_trial = !row.is_null();
    if (has_trial) kernels.insert(row.integer(0));
    row.skip();
    CompileReport compile;
    compile.registers = static_cast<int>(row.integer());
    compile.spill_bytes = static_cast<int>(row.integer());
    const std::int64_t trial_id = row.integer();
    RankEntry& entry = record.entries.emplace_back(read_record<RankEntry>(row));
    entry.trial_id = trial_id;
    if (!entry.kernel.empty()) stored_config(entry.config);
    if (has_trial && wrong.empty()) wrong = contradiction(entry, compile);
  }
  for (const std::int64_t id : kernels) record.kernels.push_back(dimensions.kernels.at(id));
  static const std::string noise =
      fmt::format("SELECT {} FROM rank_noise WHERE rank_id = ?", column_list<NoiseFloor>());
  if (Query row = dimensions.database.query(noise, head.row.id); row.step()) {
    record.noise = read_record<NoiseFloor>(row);
  }
  return wrong;
}

std::vector<StoredBaseline> read_stored_baselines(const Dimensions& dimensions,
                                                  const Filter& filter) {
  constexpr std::string_view kAge =
      "row_number() OVER(PARTITION BY op, problem_id, baseline.device_id, protocol_id, "
      "baseline.name ORDER BY finished_at DESC, baseline.id DESC)";
  std::vector<StoredBaseline> all =
      read_all<BaselineRecord>(dimensions, filter, kAge, "JOIN timing ON timing.id = timing_id");
  for (StoredBaseline& stored : all) {
    stored.row.record = supported(std::move(stored.row.record),
                                  [&] { return fmt::format("baseline {}", stored.row.id); });
  }
  return all;
}

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
    const std::string_view status = filter.status ? to_text(*filter.status) : "";
    for (Query row = database.query(sql, status, filter.sweep); row.step();) {
      // Most rows of a narrow filter are left unread.
      if (!matches.device(row.integer(1)) || !matches.kernel(row.integer(2)) ||
          !matches.problem(row.integer(3))) {
        continue;
      }
      trials.push_back(read_short_trial(row, dimensions));
      trials.back().record.measurements = measurements.of(trials.back().id);
    }
    return trials;
  });
}

std::optional<TrialRow> Store::trial(std::int64_t id) const {
  Database& database = impl_->database;
  return impl_->read([&](const Dimensions& dimensions) {
    std::optional<TrialRow> trial = read_whole_trial(dimensions, id);
    if (!trial) return trial;
    Query sweep = database.query(
        "SELECT command_line FROM trial JOIN sweep ON sweep.id = sweep_id WHERE trial.id = ?", id);
    if (sweep.step()) trial->command_line = sweep.text(0);
    const auto verifications = read_verifications(dimensions);
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
    std::vector<BaselineRow> newest;
    for (StoredBaseline& each : read_stored_baselines(dimensions, filter)) {
      if (each.age == 1) newest.push_back(std::move(each.row));
    }
    return newest;
  });
}

std::vector<StoredSweep> Store::sweeps() const {
  Database& database = impl_->database;
  return impl_->read([&](const Dimensions& dimensions) {
    std::vector<StoredSweep> runs;
    for (Query row =
             database.query("SELECT id, name, state, started_at, device_id FROM sweep ORDER BY id");
         row.step();) {
      runs.push_back({row.integer(), row.text(), row.text(), row.text(),
                      dimensions.devices.at(row.integer()).info});
    }
    return runs;
  });
}

std::vector<RankRow> Store::ranks(const Filter& filter) const {
  return impl_->read([&](const Dimensions& dimensions) {
    std::vector<RankRow> ranks;
    for (RankHead& head : read_rank_heads(dimensions, filter)) {
      read_entries_unchecked(dimensions, head);
      const auto& entries = head.row.record.entries;
      const bool concerns =
          filter.kernel.empty() || std::ranges::any_of(entries, [&](const RankEntry& entry) {
            return entry.kernel == filter.kernel;
          });
      if (concerns) ranks.push_back(std::move(head.row));
    }
    return ranks;
  });
}

}  // namespace assay
