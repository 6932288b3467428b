#include <fmt/format.h>

#include <set>
#include <utility>

#include "ranking/claims.h"
#include "store/impl.h"
#include "store/owner.h"
#include "store/rows.h"
#include "store/schema.h"
#include "store/trial_rows.h"

namespace assay {
namespace {

using Columns = std::set<std::pair<std::string, std::string>>;

Columns columns_of(Database& database) {
  Columns columns;
  for (Query row =
           database.query("SELECT part.name, info.name FROM sqlite_schema AS part "
                          "JOIN pragma_table_info(part.name) AS info WHERE part.type = 'table'");
       row.step();) {
    columns.emplace(row.text(0), row.text(1));
  }
  return columns;
}

/// Asks one question after the other, and gathers a sentence for each row that is wrong.
class Check {
 public:
  explicit Check(Database& database) : database_(database) {}

  std::vector<std::string> run() {
    rows("PRAGMA integrity_check",
         [](Query& row) { return row.text(0) == "ok" ? "" : "damaged file: " + row.text(0); });
    // On damaged pages the other questions have no trustworthy answer, and without a table none.
    if (problems_.empty()) check_schema();
    if (!problems_.empty()) return problems_;
    texts("SELECT id, text FROM config", "config", stored_config);
    texts("SELECT id, text FROM problem", "problem", stored_problem);
    texts("SELECT rank_id, config FROM rank_entry WHERE kernel <> ''", "rank_entry", stored_config);
    texts("SELECT rank_id, figures FROM rank_entry", "rank_entry", stored_problem);
    words("SELECT id, status FROM trial WHERE status <> 'running'", "trial", parse_status);
    words("SELECT id, stop FROM timing", "timing", parse_stop_reason);
    words("SELECT id, objective FROM rank", "rank", parse_objective);
    rows("PRAGMA foreign_key_check", [](Query& row) {
      return fmt::format("row {} of table {} belongs to a {} that does not exist",
                         row.is_null(1) ? "(no number)" : row.text(1), row.text(0), row.text(2));
    });
    check_claims();
    check_samples();
    rows(
        "SELECT id FROM timing WHERE id NOT IN (SELECT timing_id FROM trial WHERE timing_id IS "
        "NOT NULL) AND id NOT IN (SELECT timing_id FROM baseline WHERE timing_id IS NOT NULL)",
        [](Query& row) {
          return fmt::format("timing {} belongs to no trial and no baseline", row.integer(0));
        });
    part([&] {
      for (Query row = database_.query("SELECT DISTINCT trial_id FROM measurement"); row.step();) {
        read_measurements(database_, row.integer(0));
      }
    });
    // What is wrong so far would be found again.
    if (!problems_.empty()) return problems_;
    part([&] {
      const Dimensions dimensions(database_);
      static const std::string trials = select_trials("''", "true ORDER BY trial.id");
      rows(trials, [&](Query& row) {
        const TrialRow trial = read_unchecked(row, dimensions);
        const std::string wrong = contradiction(trial.record);
        return wrong.empty() ? "" : fmt::format("trial {}: {}", trial.id, wrong);
      });
      part([&] { read_verifications(dimensions); });
      part([&] { read_stored_baselines(dimensions); });
      part([&] {
        for (RankHead& head : read_rank_heads(dimensions)) {
          part([&] { read_entries(dimensions, head); });
        }
      });
    });
    return problems_;
  }

 private:
  /// `wrong_of` says what is wrong with a row; empty: nothing.
  template <class WrongOf>
  void rows(std::string_view sql, WrongOf wrong_of) {
    for (Query row = database_.query(sql); row.step();) {
      if (std::string wrong = wrong_of(row); !wrong.empty()) problems_.push_back(std::move(wrong));
    }
  }

  /// Whether `parse` can read each text, which stands behind its row's number.
  template <class Parse>
  void texts(std::string_view sql, const char* table, Parse parse) {
    rows(sql, [&](Query& row) -> std::string {
      try {
        parse(row.text(1));
        return "";
      } catch (const DamagedRow& error) {
        return fmt::format("row {} of table {}: {}", row.integer(0), table, error.what());
      }
    });
  }

  /// Whether each word is one that `parse` knows. Another would be taken for some word that it is
  /// not.
  template <class Parse>
  void words(std::string_view sql, const char* table, Parse parse) {
    texts(sql, table, [&](const std::string& word) {
      if (!parse(word)) throw DamagedRow("unknown word '{}'", word);
    });
  }

  /// What cannot be read ends the part that reads it, and is one problem.
  template <class Part>
  void part(const Part& read) {
    try {
      read();
    } catch (const DamagedRow& damage) {
      problems_.push_back(damage.what());
    }
  }

  void check_schema() {
    Database sound = Database::in_memory();
    make_tables(sound);
    const Columns found = columns_of(database_);
    for (const auto& [table, column] : columns_of(sound)) {
      const auto any = found.lower_bound({table, ""});
      if (any == found.end() || any->first != table) {
        const std::string lost = fmt::format("table {} is missing", table);
        if (problems_.empty() || problems_.back() != lost) problems_.push_back(lost);
      } else if (!found.contains({table, column})) {
        problems_.push_back(fmt::format("table {} has no column {}", table, column));
      }
    }
  }

  void check_claims() {
    rows(
        "SELECT trial.id, pid, host, boot_id, process_start, unixepoch() - claimed_at, state, "
        "name FROM trial JOIN sweep ON sweep.id = sweep_id WHERE status = 'running'",
        [](Query& row) -> std::string {
          const Owner owner{row.text(2), row.text(3), row.integer(1), row.integer(4)};
          if (row.text(6) == "running" && is_alive(owner, row.integer(5))) return "";
          return fmt::format(
              "trial {} was left unfinished by process {} on {}; the next sweep of '{}' "
              "measures it",
              row.integer(0), owner.pid, owner.host, row.text(7));
        });
  }

  /// What the columns of a time say beside the numbers in them.
  void check_samples() {
    rows(
        "SELECT trial.id, median_ns, length(times_ns) FROM trial JOIN timing ON timing.id = "
        "timing_id",
        [](Query& row) -> std::string {
          const std::int64_t id = row.integer(0);
          if (row.integer(2) % static_cast<std::int64_t>(sizeof(double)) != 0) {
            return fmt::format("the samples of trial {} end in the middle of a number", id);
          }
          return row.is_null(1) ? fmt::format("trial {} has samples but no median", id) : "";
        });
  }

  Database& database_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> Store::check() const {
  Database& database = impl_->database;
  return database.guarded([&] {
    const Transaction transaction(database, Transaction::Mode::read);
    return Check(database).run();
  });
}

std::vector<std::string> Store::counted_otherwise() const {
  // Counts of one machine code differ by some percent from launch to launch.
  constexpr double kFactor = 2;
  Database& database = impl_->database;
  return database.guarded([&] {
    std::vector<std::string> sentences;
    for (Query row = database.query(
             "SELECT entry.trial_id, entry.kernel, entry.config, figures, name, value FROM "
             "rank_entry AS entry JOIN measurement ON measurement.trial_id = entry.trial_id "
             "WHERE figures <> ''");
         row.step();) {
      const std::string name = row.text(4);
      const double now = row.real(5);
      for (const auto& [figure, value] : stored_problem(row.text(3))) {
        const double then = to_real(value);
        if (figure != name || !(now >= then * kFactor || then >= now * kFactor) || now == then) {
          continue;
        }
        sentences.push_back(fmt::format(
            "a verdict has {} {} of {} {}, but trial {} has {}: it was counted again since, or one "
            "of the two was changed",
            name, to_text(value), row.text(1), row.text(2), row.integer(0),
            to_text(to_number(now))));
      }
    }
    return sentences;
  });
}

}  // namespace assay
