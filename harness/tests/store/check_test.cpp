#include "matchers.h"
#include "ranking/ranking.h"
#include "store/database.h"
#include "store/store_fixture.h"

namespace assay {
namespace {

// SQLite reads the views when it alters a table, and a Database runs none.
constexpr const char* kDropColumn =
    "DROP VIEW best_param; DROP VIEW best; ALTER TABLE timing DROP COLUMN roofline_ns";

// A database with one timed trial, changed by SQL.
void make_database(const std::filesystem::path& path, const char* sql) {
  fill(path, 1);
  Database::open(path, kShort).exec(std::string("PRAGMA foreign_keys = OFF; ") + sql);
}

std::vector<std::string> problems_after(const char* sql) {
  TempFolder folder;
  make_database(folder / "x.db", sql);
  return Store::open_readonly(folder / "x.db").check();
}

// Unknown words would be shown as words that they are not.
TEST(Check, FindsWhatSqlHasDamaged) {
  const std::string ignoring = "PRAGMA ignore_check_constraints = ON; ";
  const auto orphan = HasSubstr("of table measurement belongs to a trial that does not exist");
  const std::pair<std::string, testing::Matcher<std::vector<std::string>>> damages[] = {
      {"", IsEmpty()},
      {"DELETE FROM trial; DELETE FROM validation; DELETE FROM sweep_trial",
       ElementsAre(orphan, orphan, "timing 1 belongs to no trial and no baseline")},
      {"UPDATE timing SET times_ns = x''", ElementsAre("trial 1: 'time' has no samples")},
      {"UPDATE timing SET median_ns = 1001.5",
       ElementsAre("trial 1: 'time' is 1001.5 ns, but by the samples it is 1000.5")},
      {"UPDATE timing SET times_ns = x'0011223344'",
       ElementsAre("the samples of trial 1 end in the middle of a number")},
      {"DROP TABLE rank_noise; DROP TABLE screened",
       ElementsAre("table rank_noise is missing", "table screened is missing")},
      {kDropColumn, ElementsAre("table timing has no column roofline_ns")},
      {"UPDATE config SET text = 'BLOCK'",
       ElementsAre(HasSubstr("row 1 of table config: expected "))},
      {"UPDATE problem SET text = 'M=many'",
       ElementsAre(HasSubstr("row 1 of table problem: expected "))},
      {ignoring + "UPDATE trial SET status = 'fine'",
       Contains("row 1 of table trial: unknown word 'fine'")},
      {ignoring + "UPDATE timing SET stop = 'tea'",
       Contains("row 1 of table timing: unknown word 'tea'")},
      {"UPDATE timing SET clocks_mhz = x'0000000000000040'",
       ElementsAre("trial 1: 'clocks_mhz' has a clock for some samples only")},
      {"UPDATE trial SET status = 'running'; UPDATE sweep SET state = 'running', "
       "boot_id = 'earlier', pid = 77, host = 'here'",
       ElementsAre("trial 1 was left unfinished by process 77 on here; the next sweep of 'sweep' "
                   "measures it")},
  };
  for (const auto& [sql, problems] : damages) {
    EXPECT_THAT(problems_after(sql.c_str()), problems) << sql;
  }
}

TEST(Check, FindsSamplesThatAreNoTimes) {
  for (const char* bits : {"000000000000f87f", "00000000000014c0"}) {  // NaN and -5
    const std::string sql = std::string("UPDATE timing SET times_ns = x'") + bits +
                            "', median_ns = -5, clocks_mhz = x''";
    EXPECT_THAT(problems_after(sql.c_str()), ElementsAre(HasSubstr("ns, which is no time")));
  }
}

/// A verdict on a trial, which wins.
RankRecord verdict_on(const TrialRecord& trial, bool has_baseline = true) {
  std::vector<RankEntry> entries = {{trial.kernel.name, to_text(trial.config), {5, 6, 7}}};
  if (has_baseline) entries.push_back({"", "cublaslt", {8, 9, 10}});
  RankRecord rank{trial.kernel.op,          trial.problem,         trial.protocol, 3,
                  rank_entries(entries, 0), "2026-11-21T11:00:00Z"};
  rank.toolchain = trial.toolchain;
  rank.kernels = {trial.kernel};
  return rank;
}

/// What Store::results says of a database that was changed by SQL.
std::string refusal_after(const char* sql) {
  TempFolder folder;
  make_database(folder / "x.db", sql);
  return message_of<Error>([&] { Store::open_readonly(folder / "x.db").results({}); });
}

// Whoever reads a damaged database is told by which command to look at it.
TEST(Check, IsAdvisedToWhoeverMeetsTheDamage) {
  for (const char* sql : {"DROP TABLE config", kDropColumn, "UPDATE config SET text = 'BLOCK'",
                          "UPDATE problem SET text = 'M=many'", "DELETE FROM toolchain"}) {
    const std::string refusal = refusal_after(sql);
    EXPECT_THAT(refusal, HasSubstr("x.db is damaged (")) << sql;
    EXPECT_THAT(refusal, HasSubstr("`assay db check --db ")) << sql;
  }
  EXPECT_THAT(refusal_after("DELETE FROM toolchain"),
              HasSubstr("row 1 of table toolchain is missing"));
}

// Only `db check` looked whether a file agrees with itself: `best` and `report` showed whatever it
// said.
TEST(Check, IsWhatEveryReaderDoes) {
  EXPECT_THAT(refusal_after("UPDATE timing SET median_ns = 1"), HasSubstr("by the samples it is"));
  EXPECT_THAT(refusal_after("UPDATE validation SET worst_element_ratio = 500"),
              HasSubstr("500 times its bound"));
  EXPECT_THAT(refusal_after("UPDATE trial SET finished_at = 'zzzz'"), HasSubstr("'zzzz'"));
  EXPECT_THAT(refusal_after("UPDATE protocol SET name = 'cold' || char(10) || 'import os'"),
              HasSubstr("expected a name"));
  EXPECT_THAT(refusal_after("UPDATE device SET name = 'H200' || char(10)"),
              HasSubstr("control characters"));
}

// A database may be somebody else's: a verdict is worth no more than its samples.
TEST(Check, FindsAVerdictThatItsSamplesContradict) {
  TempFolder folder;
  RankRecord rank = verdict_on(timed_record(key_of(1)));
  {
    Store store = Store::open(folder / "x.db");
    const std::int64_t sweep = begin(store);
    store.add_rank(sweep, rank);
    EXPECT_THAT(store.check(), IsEmpty());
    rank.entries[0].speedup_over_baseline.value = 9;
    rank.finished_at = "2026-11-22T11:00:00Z";
    store.add_rank(sweep, rank);
    store.end_sweep(sweep, "done");
  }
  const std::vector<std::string> problems = Store::open_readonly(folder / "x.db").check();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0], HasSubstr("the verdict on gemm_bf16 M=16,N=4096 of 2026-11-22"));
  EXPECT_THAT(problems[0], HasSubstr("'speedup'"));
}

// A recording whose metric said 1 register, of a trial with 108, named another winner.
TEST(Check, FindsAMetricOfOtherRegistersThanTheTrialHas) {
  TempFolder folder;
  Store store = Store::open(folder / "x.db");
  const std::int64_t sweep = begin(store);
  const TrialRecord trial = timed_record(key_of(1));
  store.finish(sweep, trial);
  RankRecord rank = verdict_on(trial);
  rank.entries[0].figures = {{"registers", std::int64_t{trial.compile.registers}}};
  store.add_rank(sweep, rank);
  EXPECT_THAT(store.check(), IsEmpty());
  rank.entries[0].figures = {{"registers", std::int64_t{trial.compile.registers + 1}}};
  rank.finished_at = "2026-11-22T11:00:00Z";
  store.add_rank(sweep, rank);
  EXPECT_THAT(store.check(),
              ElementsAre(HasSubstr("registers of gemm BLOCK=1,SCHEDULE=row, which has")));
}

// A recording's verdict read 1 byte where its own trial had 118,694,400. Both may be true, for
// `assay profile` counts again and a trial keeps the last count.
TEST(Check, NotesACountThatIsNotTheTrials) {
  Store store = Store::in_memory();
  const std::int64_t sweep = begin(store);
  TrialRecord trial = timed_record(key_of(1));
  trial.measurements = {{"dram_read", 118694400, "B"}, {"l2_hits", 0, "%"}};
  store.finish(sweep, trial);
  RankRecord rank = verdict_on(trial, false);
  const auto notes_of = [&](const NamedFigures& figures) {
    rank.entries[0].figures = figures;
    store.add_rank(sweep, rank);
    EXPECT_THAT(store.check(), IsEmpty());
    return store.counted_otherwise();
  };
  EXPECT_THAT(notes_of({{"dram_read", std::int64_t{118694400}}, {"l2_hits", std::int64_t{0}}}),
              IsEmpty());
  EXPECT_THAT(notes_of({{"dram_read", 60e6}, {"M", std::int64_t{16}}}), IsEmpty());
  EXPECT_THAT(notes_of({{"dram_read", std::int64_t{1}}}),
              ElementsAre(AllOf(HasSubstr("a verdict has dram_read 1 of gemm "),
                                HasSubstr("but trial 1 has 118694400: it was counted again"))));
  EXPECT_THAT(notes_of({{"l2_hits", std::int64_t{50}}}),
              Contains(HasSubstr("has l2_hits 50 of gemm ")));
}

// The number of a sweep that is not there was looked up as if it must be.
TEST(Merge, NamesTheDamagedFile) {
  for (const auto& [sql, lost] :
       {std::pair("UPDATE trial SET sweep_id = 9", "row 9 of table sweep is missing"),
        std::pair("UPDATE sweep_trial SET sweep_id = 9", "row 9 of table sweep is missing"),
        std::pair("UPDATE sweep SET device_id = 9", "row 9 of table device is missing")}) {
    TempFolder folder;
    make_database(folder / "x.db", sql);
    std::vector<Store> sources;
    sources.push_back(Store::open_readonly(folder / "x.db"));
    EXPECT_THAT(message_of<Error>([&] { Store::in_memory().merge(sources); }),
                AllOf(HasSubstr("x.db is damaged"), HasSubstr(lost)));
  }
}

}  // namespace
}  // namespace assay
