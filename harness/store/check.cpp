#include <fmt/format.h>

#include <cmath>

#include "base/stats.h"
#include "store/impl.h"
#include "store/owner.h"
#include "store/rows.h"

namespace assay {
namespace {

using Problems = std::vector<std::string>;

void check_pages(Database& database, Problems& problems) {
  for (Query row = database.query("PRAGMA integrity_check"); row.step();) {
    if (row.text(0) != "ok") problems.push_back("damaged file: " + row.text(0));
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

void check_samples(Database& database, Problems& problems) {
  // A recording keeps medians and samples to a tenth of a nanosecond each.
  constexpr double kToleranceNs = 0.1001;
  for (Query row = database.query(
           "SELECT trial.id, median_ns, times_ns, length(times_ns) FROM trial JOIN timing "
           "ON timing.id = timing_id");
       row.step();) {
    const std::int64_t id = row.integer(0);
    const std::vector<double> samples = row.reals(2);
    if (row.integer(3) == 0) {
      problems.push_back(fmt::format("trial {} has a time but no samples", id));
    } else if (row.integer(3) % static_cast<std::int64_t>(sizeof(double)) != 0) {
      problems.push_back(fmt::format("the samples of trial {} end in the middle of a number", id));
    } else if (row.is_null(1)) {
      problems.push_back(fmt::format("trial {} has samples but no median", id));
    } else if (std::abs(median(samples) - row.real(1)) > kToleranceNs) {
      problems.push_back(
          fmt::format("trial {} says its median is {:.1f} ns, its samples say {:.1f}", id,
                      row.real(1), median(samples)));
    }
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

}  // namespace

std::vector<std::string> Store::check() const {
  Database& database = impl_->database;
  return database.guarded([&] {
    const Transaction transaction(database, Transaction::Mode::read);
    Problems problems;
    check_pages(database, problems);
    // On damaged pages the other questions have no trustworthy answer.
    if (!problems.empty()) return problems;
    check_references(database, problems);
    check_claims(database, problems);
    check_samples(database, problems);
    check_timings(database, problems);
    return problems;
  });
}

}  // namespace assay
