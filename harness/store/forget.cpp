// What is deleted on purpose. The numbers of the rows to go are collected first; then they go with
// everything that belongs to them, in one transaction.
#include <unordered_set>

#include "base/interrupt.h"
#include "store/impl.h"
#include "store/trial_rows.h"

namespace assay {
namespace {

/// Numbers of rows to delete.
struct Gone {
  std::vector<std::int64_t> trials = {}, ranks = {}, baselines = {};
  bool empty_sweeps = false;  // sweeps of which nothing is left go, too
};

/// Deletes rows, what belongs to them, and the small rows that nothing refers to any more.
Deleted forget(Database& database, const Gone& gone) {
  const auto count = [&database] {
    return Deleted{database.integer("SELECT count(*) FROM trial"),
                   database.integer("SELECT count(*) FROM rank"),
                   database.integer("SELECT count(*) FROM baseline")};
  };
  const Deleted before = count();
  database.exec("CREATE TEMP TABLE IF NOT EXISTS gone(id INTEGER PRIMARY KEY); DELETE FROM gone;");
  for (const std::int64_t id : gone.trials) {
    check_interrupt();
    database.run("INSERT INTO gone VALUES(?)", id);
  }
  for (const std::int64_t id : gone.ranks) database.run("DELETE FROM rank WHERE id = ?", id);
  for (const std::int64_t id : gone.baselines) {
    database.run("DELETE FROM baseline WHERE id = ?", id);
  }
  // A verdict of which a trial is gone answers no question any more.
  database.exec(
      "DELETE FROM rank WHERE id IN (SELECT rank_id FROM rank_entry WHERE trial_id IN gone);"
      "DELETE FROM sweep_trial WHERE trial_id IN gone;"
      "DELETE FROM trial WHERE id IN gone;"
      "DELETE FROM timing WHERE id NOT IN (SELECT timing_id FROM trial WHERE timing_id NOTNULL) "
      "AND id NOT IN (SELECT timing_id FROM baseline WHERE timing_id NOTNULL);"
      "DELETE FROM config WHERE id NOT IN (SELECT config_id FROM trial);"
      "DELETE FROM kernel WHERE id NOT IN (SELECT kernel_id FROM trial);");
  if (gone.empty_sweeps) {
    database.exec(
        "CREATE TEMP TABLE IF NOT EXISTS empty(id INTEGER PRIMARY KEY);"
        "DELETE FROM empty;"
        "INSERT INTO empty SELECT id FROM sweep WHERE state <> 'running' AND id NOT IN "
        "(SELECT sweep_id FROM trial UNION SELECT sweep_id FROM sweep_trial UNION SELECT "
        "sweep_id FROM baseline UNION SELECT sweep_id FROM rank);"
        "DELETE FROM screened WHERE sweep_id IN empty;"
        "DELETE FROM sweep WHERE id IN empty;");
  }
  check_interrupt();
  const Deleted after = count();
  return {before.trials - after.trials, before.verdicts - after.verdicts,
          before.baselines - after.baselines};
}

}  // namespace

Deleted Store::forget_machine_faults() {
  Database& database = impl_->database;
  return impl_->write([&] {
    Gone gone;
    for (Query query = database.query("SELECT id, status, kind FROM trial"); query.step();) {
      const auto status = parse_status(query.text(1));
      if (status && is_machine_fault(*status, query.text(2)))
        gone.trials.push_back(query.integer(0));
    }
    return forget(database, gone);
  });
}

Deleted Store::forget_kernel(const std::string& name) {
  Database& database = impl_->database;
  return impl_->write([&] {
    return forget(
        database,
        {database.find_all("SELECT trial.id FROM trial JOIN kernel ON kernel.id = kernel_id WHERE "
                           "kernel.name = ? AND status <> 'running'",
                           name),
         database.find_all("SELECT DISTINCT rank_id FROM rank_entry WHERE kernel = ?", name)});
  });
}

Deleted Store::prune() {
  Database& database = impl_->database;
  return impl_->write([&] {
    Gone gone;
    gone.empty_sweeps = true;
    std::unordered_set<std::int64_t> trials, ranks;
    const Dimensions dimensions(database);
    const auto note = [&](const TrialRow& row, const Results&) {
      trials.insert(row.id);
      return false;
    };
    for (const RankRow& row : impl_->results({}, note, dimensions).ranks) ranks.insert(row.id);
    gone.trials = database.find_all("SELECT id FROM trial WHERE status <> 'running'");
    std::erase_if(gone.trials, [&](std::int64_t id) { return trials.contains(id); });
    for (const RankHead& head : read_rank_heads(dimensions)) {
      if (!ranks.contains(head.row.id)) gone.ranks.push_back(head.row.id);
    }
    for (const StoredBaseline& baseline : read_stored_baselines(dimensions)) {
      if (baseline.age > 1) gone.baselines.push_back(baseline.row.id);
    }
    return forget(database, gone);
  });
}

}  // namespace assay
