// The views for people with sqlite3, read with the sqlite3 library and compared with what the store
// says of the same recordings.

#include "matchers.h"
#include "store/database.h"
#include "store/store_fixture.h"

namespace assay {
namespace {

const std::filesystem::path kRecorded =
    std::filesystem::path(ASSAY_SOURCE_DIR) / "results/recorded/nvidia_h200";

/// The rows of a query, cells joined by |.
std::vector<std::string> rows_of(const std::filesystem::path& path, const std::string& sql) {
  const SQLite::Database database(path.string());  // a Database runs no views
  SQLite::Statement query(database, sql);
  std::vector<std::string> rows;
  while (query.executeStep()) {
    std::string row;
    for (int i = 0; i < query.getColumnCount(); ++i) {
      row += (i == 0 ? "" : "|") + query.getColumn(i).getString();
    }
    rows.push_back(row);
  }
  return rows;
}

TEST(Views, BestIsTheWinnersThatTheStoreNames) {
  TempFolder folder;
  Store store = Store::open(folder / "x.db");
  for (const char* name : {"gemm.jsonl", "ln_h200.jsonl", "sparse_chosen_h200.jsonl"}) {
    store.import(read_portions(kRecorded / name));
  }
  std::vector<std::string> expected, params;
  for (const RankRow& row : store.results({}, {}).ranks) {
    const RankRecord& rank = row.record;
    const RankEntry* baseline = nullptr;
    for (const RankEntry& entry : rank.entries) {
      const bool counts = entry.kernel.empty() && entry.failure.empty();
      if (counts && (baseline == nullptr || entry.median_ns < baseline->median_ns)) {
        baseline = &entry;
      }
    }
    for (const RankEntry& entry : rank.entries) {
      if (!entry.winner) continue;
      const Interval& speedup = entry.speedup_over_baseline;
      const std::string ratio = baseline == nullptr
                                    ? "|||"
                                    : fmt::format("{}|{:.6f}|{:.6f}|{:.6f}", baseline->config,
                                                  speedup.value, speedup.low, speedup.high);
      expected.push_back(fmt::format("{}|{}|{}|{}|{}|{:.3f}|{}|{}|{}", rank.op, entry.kernel,
                                     to_text(rank.problem), row.device.name, entry.config,
                                     entry.median_ns, ratio,
                                     rank.version_of(entry.kernel).source_hash, rank.finished_at));
      for (const auto& [param, value] : parse_config(entry.config)) {
        params.push_back(fmt::format("{}|{}|{}|{}", row.id, param, to_text(value),
                                     value.index() == 0 ? "integer" : "text"));
      }
    }
  }
  ASSERT_GT(expected.size(), 10u);
  EXPECT_THAT(rows_of(folder / "x.db",
                      "SELECT op, kernel, problem, gpu, config, format('%.3f', time_ns), baseline, "
                      "format(iif(speedup IS NULL, '', '%.6f'), speedup), "
                      "format(iif(speedup_low IS NULL, '', '%.6f'), speedup_low), "
                      "format(iif(speedup_high IS NULL, '', '%.6f'), speedup_high), source_hash, "
                      "measured_at FROM best"),
              ::testing::UnorderedElementsAreArray(expected));
  EXPECT_THAT(
      rows_of(folder / "x.db", "SELECT rank_id, name, value, typeof(value) FROM best_param"),
      ::testing::UnorderedElementsAreArray(params));
}

// Of several verdicts on one problem the newest is shown, and a verdict without a baseline has no
// ratio.
TEST(Views, ShowTheNewestVerdict) {
  TempFolder folder;
  Store store = Store::open(folder / "x.db");
  const std::int64_t sweep = begin(store);
  for (const std::int64_t block : {1, 2}) {
    store.claim(sweep, key_of(block));
    store.finish(sweep, timed_record(key_of(block)));
  }
  for (const char* day : {"2026-11-22T10:00:00Z", "2026-11-21T10:00:00Z"}) {
    store.add_rank(sweep, rank_of(day));
  }
  const std::string sql = "SELECT measured_at, baseline, round(speedup, 2) FROM best";
  EXPECT_THAT(rows_of(folder / "x.db", sql), ElementsAre("2026-11-22T10:00:00Z|cublaslt|1.51"));
  RankRecord alone = rank_of("2026-11-23T10:00:00Z");
  std::erase_if(alone.entries, [](const RankEntry& entry) { return entry.kernel.empty(); });
  store.add_rank(sweep, alone);
  EXPECT_THAT(rows_of(folder / "x.db", sql), ElementsAre("2026-11-23T10:00:00Z||"));
}

// A database that was made before the views could not be asked.
TEST(Views, AnOlderDatabaseGetsThemWhenItIsOpenedForWriting) {
  TempFolder folder;
  fill(folder / "x.db", 1);
  Database::open(folder / "x.db", kShort)
      .exec(
          "DROP VIEW best_param; DROP VIEW best; CREATE VIEW best AS -- of assay\nSELECT 1 AS op");
  EXPECT_THAT(Store::open_readonly(folder / "x.db").check(), IsEmpty());
  EXPECT_THAT(rows_of(folder / "x.db", "SELECT op FROM best"), SizeIs(1)) << "changed by a reader";
  Store::open(folder / "x.db");
  EXPECT_THAT(rows_of(folder / "x.db", "SELECT rank_id, kernel FROM best"), IsEmpty());
  EXPECT_THAT(rows_of(folder / "x.db", "SELECT name FROM best_param"), IsEmpty());
}

// A database with a table of this name was called damaged, and a view was replaced.
TEST(Views, WhatIsSomebodysOwnKeepsItsName) {
  for (const char* made : {"CREATE TABLE best (mine); INSERT INTO best VALUES (42)",
                           "CREATE VIEW best AS SELECT 42 AS mine"}) {
    TempFolder folder;
    fill(folder / "x.db", 1);
    Database::open(folder / "x.db", kShort).exec(fmt::format("DROP VIEW best; {}", made));
    EXPECT_THAT(Store::open(folder / "x.db").check(), IsEmpty());
    EXPECT_THAT(rows_of(folder / "x.db", "SELECT mine FROM best"), ElementsAre("42"));
  }
}

}  // namespace
}  // namespace assay
