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

using Problems = std::vector<std::string>;

void check_pages(Database& database, Problems& problems) {
  for (Query row = database.query("PRAGMA integrity_check"); row.step();) {
    if (row.text(0) != "ok") problems.push_back("damaged file: " + row.text(0));
  }
}

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

void check_schema(Database& database, Problems& problems) {
  Database sound = Database::in_memory();
  make_tables(sound);
  const Columns found = columns_of(database);
  for (const auto& [table, column] : columns_of(sound)) {
    const auto any = found.lower_bound({table, ""});
    if (any == found.end() || any->first != table) {
      const std::string lost = fmt::format("table {} is missing", table);
      if (problems.empty() || problems.back() != lost) problems.push_back(lost);
    } else if (!found.contains({table, column})) {
      problems.push_back(fmt::format("table {} has no column {}", table, column));
    }
  }
}

/// Whether every text of a table can be read.
template <class Parse>
void check_texts(Query rows, const char* table, Parse parse, Problems& problems) {
  while (rows.step()) {
    try {
      parse(rows.text(1));
    } catch (const DamagedRow& error) {
      problems.push_back(
          fmt::format("row {} of table {}: {}", rows.integer(0), table, error.what()));
    }
  }
}

/// Whether each word is one that `parse` knows. Another would be taken for some word that it is
/// not.
template <class Parse>
void check_words(Query rows, const char* table, Parse parse, Problems& problems) {
  while (rows.step()) {
    if (parse(rows.text(1))) continue;
    problems.push_back(
        fmt::format("row {} of table {}: unknown word '{}'", rows.integer(0), table, rows.text(1)));
  }
}

void check_references(Database& database, Problems& problems) {
  for (Query row = database.query("PRAGMA foreign_key_check"); row.step();) {
    problems.push_back(fmt::format("row {} of table {} belongs to a {} that does not exist",
                                   row.is_null(1) ? "(no number)" : row.text(1), row.text(0),
                                   row.text(2)));
  }
}

void check_claims(Database& database, Problems& problems) {
  for (Query row = database.query(
           "SELECT trial.id, pid, host, boot_id, process_start, unixepoch() - claimed_at, state, "
           "name FROM trial JOIN sweep ON sweep.id = sweep_id WHERE status = 'running'");
       row.step();) {
    const Owner owner{row.text(2), row.text(3), row.integer(1), row.integer(4)};
    if (row.text(6) == "running" && is_alive(owner, row.integer(5))) continue;
    problems.push_back(
        fmt::format("trial {} was left unfinished by process {} on {}; the next sweep of '{}' "
                    "measures it",
                    row.integer(0), owner.pid, owner.host, row.text(7)));
  }
}

/// What the columns of a time say beside the numbers in them.
void check_samples(Database& database, Problems& problems) {
  for (Query row = database.query(
           "SELECT trial.id, median_ns, length(times_ns) FROM trial JOIN timing ON timing.id = "
           "timing_id");
       row.step();) {
    const std::int64_t id = row.integer(0);
    if (row.integer(2) % static_cast<std::int64_t>(sizeof(double)) != 0) {
      problems.push_back(fmt::format("the samples of trial {} end in the middle of a number", id));
    } else if (row.is_null(1)) {
      problems.push_back(fmt::format("trial {} has samples but no median", id));
    }
  }
}

/// Whether each trial agrees with itself.
void check_trials(Database& database, const Dimensions& dimensions, Problems& problems) {
  static const std::string sql = select_trials("''", "true ORDER BY trial.id");
  for (Query row = database.query(sql); row.step();) {
    const TrialRow trial = read_unchecked(row, dimensions);
    const std::string wrong = contradiction(trial.record);
    if (!wrong.empty()) problems.push_back(fmt::format("trial {}: {}", trial.id, wrong));
  }
}

void check_timings(Database& database, Problems& problems) {
  for (Query row = database.query(
           "SELECT id FROM timing WHERE id NOT IN (SELECT timing_id FROM trial WHERE timing_id IS "
           "NOT NULL) AND id NOT IN (SELECT timing_id FROM baseline WHERE timing_id IS NOT NULL)");
       row.step();) {
    problems.push_back(
        fmt::format("timing {} belongs to no trial and no baseline", row.integer(0)));
  }
}

/// Whether what a verdict says follows from the samples that it has and from its entries' trials.
void check_verdicts(Database& database, const Dimensions& dimensions, Problems& problems) {
  for (RankHead& head : read_rank_heads(database, dimensions, Matcher({}, dimensions), "")) {
    const RankRecord& record = head.row.record;
    std::string wrong = read_entries_unchecked(database, dimensions, head);
    if (wrong.empty()) wrong = contradiction(record);
    if (wrong.empty()) continue;
    problems.push_back(fmt::format("the verdict on {} {} of {}: {}", record.op,
                                   to_text(record.problem), record.finished_at, wrong));
  }
}

/// What cannot be read ends the part that reads it, and is one problem.
template <class Part>
void check_part(Problems& problems, const Part& part) {
  try {
    part();
  } catch (const DamagedRow& damage) {
    problems.push_back(damage.what());
  }
}

}  // namespace

std::vector<std::string> Store::check() const {
  Database& database = impl_->database;
  return database.guarded([&] {
    const Transaction transaction(database, Transaction::Mode::read);
    Problems problems;
    check_pages(database, problems);
    // On damaged pages the other questions have no trustworthy answer, and without a table none.
    if (problems.empty()) check_schema(database, problems);
    if (!problems.empty()) return problems;
    check_texts(database.query("SELECT id, text FROM config"), "config", stored_config, problems);
    check_texts(database.query("SELECT id, text FROM problem"), "problem", stored_problem,
                problems);
    check_texts(database.query("SELECT rank_id, config FROM rank_entry WHERE kernel <> ''"),
                "rank_entry", stored_config, problems);
    check_texts(database.query("SELECT rank_id, figures FROM rank_entry"), "rank_entry",
                stored_problem, problems);
    check_words(database.query("SELECT id, status FROM trial WHERE status <> 'running'"), "trial",
                parse_status, problems);
    check_words(database.query("SELECT id, stop FROM timing"), "timing", parse_stop_reason,
                problems);
    check_words(
        database.query("SELECT id, objective FROM rank"), "rank",
        [](const std::string& text) { return parse_objective(text); }, problems);
    check_references(database, problems);
    check_claims(database, problems);
    check_samples(database, problems);
    check_timings(database, problems);
    check_part(problems, [&] {
      for (Query row = database.query("SELECT DISTINCT trial_id FROM measurement"); row.step();) {
        read_measurements(database, row.integer(0));
      }
    });
    // What is wrong so far would be found again.
    if (!problems.empty()) return problems;
    check_part(problems, [&] {
      const Dimensions dimensions(database);
      const Matcher all({}, dimensions);
      check_trials(database, dimensions, problems);
      check_part(problems, [&] { read_verifications(database, dimensions); });
      check_part(problems, [&] { read_stored_baselines(database, dimensions, all, ""); });
      check_part(problems, [&] { check_verdicts(database, dimensions, problems); });
    });
    return problems;
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
