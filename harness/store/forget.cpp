// What is deleted on purpose. The trials to go are first collected in a table of this connection's
// own; then everything that belongs to them goes, in one transaction.
#include <unordered_set>

#include "base/interrupt.h"
#include "store/impl.h"
#include "store/trial_rows.h"

namespace assay {
namespace {

class Deletion {
 public:
  explicit Deletion(Database& database)
      : database_(database), transaction_(database, Transaction::Mode::write) {
    database_.exec("CREATE TEMP TABLE IF NOT EXISTS gone(id INTEGER PRIMARY KEY)");
    database_.exec("DELETE FROM gone");
  }

  void trial(std::int64_t id) {
    check_interrupt();
    database_.run("INSERT INTO gone VALUES(?)", id);
  }
  void rank(std::int64_t id) {
    database_.run("DELETE FROM rank WHERE id = ?", id);
    ++deleted_.verdicts;
  }
  void baseline(std::int64_t id) {
    database_.run("DELETE FROM baseline WHERE id = ?", id);
    ++deleted_.baselines;
  }

  /// At the end, sweeps of which nothing is left go, too.
  void empty_sweeps() { empty_sweeps_ = true; }

  /// Deletes the trials, and the small rows that nothing refers to any more.
  Deleted commit() {
    // A verdict of which a trial is gone answers no question any more.
    const std::int64_t ranks = database_.integer("SELECT count(*) FROM rank");
    database_.exec(
        "DELETE FROM rank WHERE id IN (SELECT rank_id FROM rank_entry WHERE trial_id IN gone)");
    deleted_.verdicts += ranks - database_.integer("SELECT count(*) FROM rank");
    deleted_.trials = database_.integer("SELECT count(*) FROM gone");
    database_.exec(
        "DELETE FROM sweep_trial WHERE trial_id IN gone;"
        "DELETE FROM trial WHERE id IN gone;"
        "DELETE FROM timing WHERE id NOT IN (SELECT timing_id FROM trial WHERE timing_id NOTNULL) "
        "AND id NOT IN (SELECT timing_id FROM baseline WHERE timing_id NOTNULL);"
        "DELETE FROM config WHERE id NOT IN (SELECT config_id FROM trial);"
        "DELETE FROM kernel WHERE id NOT IN (SELECT kernel_id FROM trial);");
    if (empty_sweeps_) {
      database_.exec(
          "CREATE TEMP TABLE IF NOT EXISTS empty(id INTEGER PRIMARY KEY);"
          "DELETE FROM empty;"
          "INSERT INTO empty SELECT id FROM sweep WHERE state <> 'running' AND id NOT IN "
          "(SELECT sweep_id FROM trial UNION SELECT sweep_id FROM sweep_trial UNION SELECT "
          "sweep_id FROM baseline UNION SELECT sweep_id FROM rank);"
          "DELETE FROM screened WHERE sweep_id IN empty;"
          "DELETE FROM sweep WHERE id IN empty;");
    }
    check_interrupt();
    transaction_.commit();
    return deleted_;
  }

 private:
  Database& database_;
  Transaction transaction_;
  Deleted deleted_;
  bool empty_sweeps_ = false;
};

}  // namespace

Deleted Store::forget_machine_faults() {
  Database& database = impl_->database;
  return database.guarded([&] {
    Deletion deletion(database);
    for (Query query = database.query("SELECT id, status, kind FROM trial"); query.step();) {
      const auto status = parse_status(query.text(1));
      if (status && is_machine_fault(*status, query.text(2))) deletion.trial(query.integer(0));
    }
    return deletion.commit();
  });
}

Deleted Store::forget_kernel(const std::string& name) {
  Database& database = impl_->database;
  return database.guarded([&] {
    Deletion deletion(database);
    for (Query query =
             database.query("SELECT trial.id FROM trial JOIN kernel ON kernel.id = kernel_id "
                            "WHERE kernel.name = ? AND status <> 'running'",
                            name);
         query.step();) {
      deletion.trial(query.integer(0));
    }
    std::vector<std::int64_t> ranks;
    for (Query query =
             database.query("SELECT DISTINCT rank_id FROM rank_entry WHERE kernel = ?", name);
         query.step();) {
      ranks.push_back(query.integer(0));
    }
    for (const std::int64_t id : ranks) deletion.rank(id);
    return deletion.commit();
  });
}

Deleted Store::prune() {
  Database& database = impl_->database;
  return database.guarded([&] {
    Deletion deletion(database);
    std::unordered_set<std::int64_t> trials;
    const Dimensions dimensions(database);
    const auto note = [&](const TrialRow& row, const Results&) {
      trials.insert(row.id);
      return false;
    };
    const Results current = impl_->results({}, note, dimensions);
    for (Query query = database.query("SELECT id FROM trial WHERE status <> 'running'");
         query.step();) {
      if (!trials.contains(query.integer(0))) deletion.trial(query.integer(0));
    }
    const Matcher all({}, dimensions);
    std::unordered_set<std::int64_t> ranks;
    for (const RankRow& row : current.ranks) ranks.insert(row.id);
    for (const RankHead& head : read_rank_heads(database, dimensions, all, "")) {
      if (!ranks.contains(head.row.id)) deletion.rank(head.row.id);
    }
    for (const StoredBaseline& baseline : read_stored_baselines(database, dimensions, all, "")) {
      if (baseline.age > 1) deletion.baseline(baseline.row.id);
    }
    deletion.empty_sweeps();
    return deletion.commit();
  });
}

}  // namespace assay
