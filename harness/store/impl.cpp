#include "store/impl.h"

#include <ctime>
#include <map>

#include "base/rank.h"
#include "store/owner.h"
#include "store/row_fields.h"

namespace assay {
namespace {

std::string now_unless(Database& database, const std::string& finished_at) {
  if (!finished_at.empty()) return finished_at;
  Query row = database.query("SELECT strftime('%Y-%m-%dT%H:%M:%SZ')");
  row.step();
  return row.text(0);
}

/// The trial behind an entry of a verdict; nothing for a baseline, and for a trial that is not
/// stored.
std::optional<std::int64_t> trial_of(Database& database, std::int64_t device,
                                     const RankRecord& rank, const RankEntry& entry) {
  if (entry.kernel.empty()) return std::nullopt;
  const KeyIds ids = key_ids(database,
                             {rank.version_of(entry.kernel), rank.toolchain, rank.protocol,
                              rank.problem, parse_config(entry.config)},
                             IfNew::leave);
  const auto state = trial_state(database, device, ids);
  return state ? std::optional(state->id) : std::nullopt;
}

}  // namespace

std::int64_t Store::Impl::device_of(std::int64_t sweep_id) {
  const auto device = database.find("SELECT device_id FROM sweep WHERE id = ?", sweep_id);
  if (!device) throw Error("{} has no sweep {}", path.string(), sweep_id);
  return *device;
}

std::int64_t Store::Impl::add_sweep(const std::string& name, const std::string& yaml,
                                    const std::string& command_line, std::int64_t device,
                                    const std::string& state) {
  const Owner owner = this_process();
  Query row = database.query(
      "INSERT INTO sweep(name, yaml, command_line, device_id, state, started_at, host, boot_id, "
      "pid, process_start) VALUES(?, ?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ'), ?, ?, ?, ?) "
      "RETURNING id",
      name, yaml, command_line, device, state, owner.host, owner.boot_id, owner.pid,
      owner.process_start);
  row.step();
  return row.integer(0);
}

int weight_of(const Outcome& outcome) {
  if (is_machine_fault(outcome.status, outcome.kind)) return 0;
  if (outcome.status == Status::compiled) return 1;
  return outcome.status == Status::correctness ? 3 : 2;
}

void Store::Impl::link(std::int64_t sweep_id, std::int64_t trial_id) {
  database.run("INSERT OR IGNORE INTO sweep_trial(trial_id, sweep_id) VALUES(?, ?)", trial_id,
               sweep_id);
}

void Store::Impl::put_screened(std::int64_t sweep_id, const std::string& op,
                               const Problem& problem) {
  database.run("INSERT OR IGNORE INTO screened(sweep_id, op, problem_id) VALUES(?, ?, ?)", sweep_id,
               op, id_of(database, problem, IfNew::add));
}

bool is_better(const Outcome& other, const std::string& finished_at, const Outcome& stored,
               const std::string& stored_at) {
  const int weights[] = {weight_of(other), weight_of(stored)};
  return weights[0] != weights[1] ? weights[0] > weights[1] : finished_at > stored_at;
}

bool Store::Impl::is_better(const TrialRecord& record, std::int64_t trial_id) {
  Query row = database.query("SELECT status, kind, finished_at FROM trial WHERE id = ?", trial_id);
  if (!row.step()) return true;
  Outcome stored;
  stored.status = parse_status(row.text(0)).value_or(Status::correct);
  stored.kind = row.text(1);
  return assay::is_better(record.outcome, record.finished_at, stored, row.text(2));
}

std::int64_t Store::Impl::put_trial(std::int64_t sweep_id, std::int64_t device, const KeyIds& ids,
                                    const TrialRecord& record, IfDone if_done) {
  const auto stored = ids.is_new ? std::nullopt : trial_state(database, device, ids);
  const Outcome& outcome = record.outcome;
  // A fault of the machine says less than any result.
  const bool says_nothing = is_machine_fault(outcome.status, outcome.kind);
  const bool was_wrong = stored && stored->status == to_text(Status::correctness);
  const bool passes_now = was_wrong && outcome.status == Status::correct;
  if (stored && stored->done() &&
      (if_done == IfDone::keep || says_nothing ||
       (if_done == IfDone::replace_unless_wrong && passes_now))) {
    link(sweep_id, stored->id);
    if (record.verification) put_verification(stored->id, *record.verification);
    return stored->id;
  }

  const std::string finished_at = now_unless(database, record.finished_at);
  Cells cells;
  cells.add(record)
      .set({"finished_at", finished_at})
      .set({"sweep_id", sweep_id})
      .set({"timing_id",
            outcome.timing ? std::optional(put_timing(database, *outcome.timing)) : std::nullopt});
  std::int64_t trial_id = 0;
  if (stored) {
    trial_id = stored->id;
    forget_figures(trial_id);
    database.update("trial", trial_id, cells);
  } else {
    for (const Cell& cell :
         {Cell{"device_id", device}, Cell{"kernel_id", ids.kernel},
          Cell{"toolchain_id", ids.toolchain}, Cell{"protocol_id", ids.protocol},
          Cell{"problem_id", ids.problem}, Cell{"config_id", ids.config}, Cell{"attempts", 1},
          Cell{"claimed_at", std::int64_t{std::time(nullptr)}}}) {
      cells.set(cell);
    }
    trial_id = database.insert("trial", cells);
  }
  const Cell of_trial{"trial_id", trial_id};
  if (const auto& validation = outcome.validation) {
    database.insert("validation", Cells().add(*validation).set(of_trial));
  }
  for (const Measurement& measurement : record.measurements) {
    database.insert("measurement", Cells().add(measurement).set(of_trial));
  }
  if (record.verification) put_verification(trial_id, *record.verification);
  link(sweep_id, trial_id);
  return trial_id;
}

std::optional<std::int64_t> Store::Impl::number_now(const TrialRow& trial) {
  const auto found = trial_state(database, device_id(database, trial.device, trial.provenance),
                                 key_ids(database, trial.record, IfNew::leave));
  return found && found->done() ? std::optional(found->id) : std::nullopt;
}

void Store::Impl::replace_measurements(std::int64_t trial_id,
                                       const std::vector<Measurement>& measurements) {
  for (const Measurement& measurement : measurements) {
    database.run("DELETE FROM measurement WHERE trial_id = ? AND name = ?", trial_id,
                 measurement.name);
    database.insert("measurement", Cells().add(measurement).set({"trial_id", trial_id}));
  }
}

void Store::Impl::put_verification(std::int64_t trial_id, const Verification& verification) {
  const auto newer =
      database.find("SELECT 1 FROM verification WHERE trial_id = ? AND finished_at >= ?", trial_id,
                    verification.finished_at);
  if (newer) return;
  forget_verification(trial_id);
  database.insert("verification", Cells(database).add(verification).set({"trial_id", trial_id}));
  int position = 0;
  for (const VerificationCheck& check : verification.checks) {
    database.insert("verification_check",
                    Cells().add(check).set({"trial_id", trial_id}).set({"position", position++}));
  }
}

void Store::Impl::forget_verification(std::int64_t trial_id) {
  database.run("DELETE FROM verification_check WHERE trial_id = ?", trial_id);
  database.run("DELETE FROM verification WHERE trial_id = ?", trial_id);
}

void Store::Impl::forget_figures(std::int64_t trial_id) {
  database.run("DELETE FROM validation WHERE trial_id = ?", trial_id);
  database.run("DELETE FROM measurement WHERE trial_id = ?", trial_id);
  const auto timing_id =
      database.find("SELECT timing_id FROM trial WHERE id = ? AND timing_id IS NOT NULL", trial_id);
  if (!timing_id) return;
  database.run("UPDATE trial SET timing_id = NULL WHERE id = ?", trial_id);
  database.run("DELETE FROM timing WHERE id = ?", *timing_id);
}

bool Store::Impl::has_baseline(std::int64_t device, const BaselineRecord& record) {
  return database
      .query(
          "SELECT 1 FROM baseline JOIN timing ON timing.id = timing_id WHERE device_id = ? AND "
          "op = ? AND problem_id = ? AND protocol_id = ? AND toolchain_id = ? AND name = ? AND "
          "cublas = ? AND contract_hash = ? AND finished_at = ? AND times_ns = ?",
          device, record.op, id_of(database, record.problem, IfNew::leave),
          id_of(database, record.protocol, IfNew::leave),
          id_of(database, record.toolchain, IfNew::leave), record.name, record.cublas,
          record.contract_hash, record.finished_at, record.timing.samples_ns)
      .step();
}

void Store::Impl::put_baseline(std::int64_t sweep_id, std::int64_t device,
                               const BaselineRecord& record) {
  database.insert(
      "baseline",
      Cells(database).add(record).set({"sweep_id", sweep_id}).set({"device_id", device}));
}

bool Store::Impl::has_rank(std::int64_t device, const RankRecord& record) {
  const RankEntry* first = record.entries.empty() ? nullptr : &record.entries.front();
  return database
      .query(
          "SELECT 1 FROM rank LEFT JOIN rank_entry ON rank_id = rank.id AND position = 0 WHERE "
          "device_id = ? AND op = ? AND problem_id = ? AND protocol_id = ? AND rounds = ? AND "
          "finished_at = ? AND objective = ? AND candidates = ? AND times_ns IS ?",
          device, record.op, id_of(database, record.problem, IfNew::leave),
          id_of(database, record.protocol, IfNew::leave), record.rounds, record.finished_at,
          to_text(record.objective), record.identity.candidates,
          first ? std::optional(first->samples_ns) : std::nullopt)
      .step();
}

void Store::Impl::complete_identity(std::int64_t sweep_id, RankRecord& record) {
  if (!record.identity.candidates.empty()) return;
  struct Trial {
    std::int64_t kernel, toolchain;
    std::string config;
  };
  const Dimensions dimensions(database);
  std::vector<Trial> trials;
  std::map<std::string, Trial> newest;  // by the kernel's name
  for (Query row = database.query(
           "SELECT kernel_id, toolchain_id, config.text FROM sweep_trial AS link "
           "JOIN trial ON trial.id = link.trial_id JOIN config ON config.id = config_id "
           "JOIN kernel ON kernel.id = kernel_id WHERE link.sweep_id = ? AND kernel.op = ? AND "
           "problem_id = ? AND protocol_id = ? AND status = 'correct' AND timing_id IS NOT NULL "
           "AND trial.finished_at <= ? ORDER BY trial.finished_at",
           sweep_id, record.op, id_of(database, record.problem, IfNew::leave),
           id_of(database, record.protocol, IfNew::leave), record.finished_at);
       row.step();) {
    trials.push_back({row.integer(0), row.integer(1), row.text(2)});
    newest[dimensions.kernels.at(trials.back().kernel).name] = trials.back();
  }
  CandidateSet candidates;
  for (const Trial& trial : trials) {
    const KernelVersion& kernel = dimensions.kernels.at(trial.kernel);
    const Trial& current = newest.at(kernel.name);
    if (trial.kernel != current.kernel || trial.toolchain != current.toolchain) continue;
    candidates.add(kernel, dimensions.toolchains.at(trial.toolchain), trial.config);
  }
  for (const auto& [name, trial] : newest) {
    record.kernels.push_back(dimensions.kernels.at(trial.kernel));
    record.toolchain = dimensions.toolchains.at(trial.toolchain);
  }
  record.identity.candidates = candidates.hash();
  record.identity.num_candidates = static_cast<std::int64_t>(candidates.size());
  record.identity.objective = record.objective;
}

void Store::Impl::put_rank(std::int64_t sweep_id, std::int64_t device, const RankRecord& record) {
  const std::int64_t rank_id = database.insert(
      "rank", Cells(database).add(record).set({"sweep_id", sweep_id}).set({"device_id", device}));
  int position = 0;
  for (const RankEntry& entry : record.entries) {
    database.insert("rank_entry",
                    Cells()
                        .add(entry)
                        .set({"rank_id", rank_id})
                        .set({"position", position++})
                        .set({"trial_id", trial_of(database, device, record, entry)}));
  }
  if (const auto& noise = record.noise) {
    database.insert("rank_noise", Cells().add(*noise).set({"rank_id", rank_id}));
  }
}

}  // namespace assay
