#include "store/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <array>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "store/database.h"
#include "store/store_fixture.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Migration, TakesEverySchemaToTheNewest) {
  // Simulates later steps. What one step did must still be there after the next.
  const std::array steps = {schema_steps()[0], "CREATE TABLE second(x INTEGER) STRICT",
                            "INSERT INTO second VALUES(1); CREATE TABLE third(x INTEGER) STRICT"};
  for (std::size_t from = 0; from <= steps.size(); ++from) {
    TempFolder folder;
    Database database = Database::open(folder / "x.db", kShort);
    migrate(database, std::span(steps).first(from));
    migrate(database, steps);
    migrate(database, steps);
    EXPECT_EQ(database.integer("PRAGMA user_version"), 3) << "from " << from;
    EXPECT_EQ(database.integer("SELECT count(*) FROM second"), 1) << "from " << from;
    EXPECT_EQ(database.integer("SELECT count(*) FROM third"), 0) << "from " << from;
  }
}

// Two sweeps that began at once on a new file: one read its schema, 0, before the other had made
// the file, and after that whose it is. So it was called damaged.
TEST(Migration, AnotherMayMakeTheFileBeforeAnyStatement) {
  static const std::span<const char* const> kFirstSteps = schema_steps().first(2);
  struct Other {
    std::filesystem::path path;
    int before;  // this statement it makes the file
    int num_statements = 0;
  };
  const auto make = [](unsigned, void* context, void*, void*) {
    Other& other = *static_cast<Other*>(context);
    if (++other.num_statements != other.before) return 0;
    try {
      Database database = Database::open(other.path, std::chrono::milliseconds(0));
      database.exec("PRAGMA synchronous = OFF");
      migrate(database, kFirstSteps);
    } catch (const SQLite::Exception& error) {
      // Where this one reads or writes, the other cannot.
      EXPECT_EQ(error.getErrorCode(), SQLITE_BUSY);
    }
    return 0;
  };
  int num_statements = 1;
  for (int before = 1; before <= num_statements; ++before) {
    TempFolder folder;
    Other other{folder / "x.db", before};
    Database database = Database::open(other.path, kShort);
    database.exec("PRAGMA synchronous = OFF");
    sqlite3_trace_v2(database.handle().getHandle(), SQLITE_TRACE_STMT, make, &other);
    EXPECT_NO_THROW(migrate(database, kFirstSteps)) << before;
    EXPECT_NO_THROW(require_newest_schema(database, kFirstSteps)) << before;
    num_statements = std::max(num_statements, other.num_statements);
  }
  EXPECT_GT(num_statements, 10);
}

// Each step was a transaction of its own. A file that was just being made was called one of an
// older assay, to be migrated.
TEST(Migration, AFileThatIsBeingMadeIsEmptyOrWhole) {
  TempFolder folder;
  const std::filesystem::path path = folder / "x.db";
  Database database = Database::open(path, kShort);
  std::set<std::int64_t> seen;
  struct Reader {
    std::filesystem::path path;
    std::set<std::int64_t>* seen;
  } reader{path, &seen};
  const auto look = [](unsigned, void* context, void*, void*) {
    const Reader& self = *static_cast<Reader*>(context);
    try {
      self.seen->insert(Database::open_readonly(self.path).integer("PRAGMA user_version"));
    } catch (const Error&) {  // locked
    }
    return 0;
  };
  database.exec("PRAGMA synchronous = OFF");
  sqlite3_trace_v2(database.handle().getHandle(), SQLITE_TRACE_STMT, look, &reader);
  migrate(database);
  look(0, &reader, nullptr, nullptr);
  EXPECT_EQ(seen, (std::set<std::int64_t>{0, static_cast<std::int64_t>(schema_steps().size())}));
}

TEST(Migration, AFailedStepLeavesTheSchemaAsItWas) {
  TempFolder folder;
  const std::array steps = {schema_steps()[0], "CREATE TABLE second(x); CREATE TABLE second(x)"};
  {
    Database database = Database::open(folder / "x.db", kShort);
    migrate(database, std::span(steps).first(1));
    EXPECT_THROW(migrate(database, steps), SQLite::Exception);
    EXPECT_EQ(database.integer("PRAGMA user_version"), 1);
    EXPECT_EQ(database.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'second'"), 0);
  }
  EXPECT_THAT(Store::open(folder / "x.db").check(), IsEmpty());
}

// What a file of schema 1 holds after one sweep: a trial, a baseline and a rank.
constexpr const char* kOldRows = R"sql(
INSERT INTO device VALUES(1, 'NVIDIA H200', 'GPU-1234', '580.1', '', 90, 132, 232448, 62914560,
                          150754820096);
INSERT INTO toolchain VALUES(1, '13.0', '90a', '--use_fast_math', '580.1');
INSERT INTO kernel VALUES(1, 'gemm', 'gemm_bf16', 'source', 'contract');
INSERT INTO protocol VALUES(1, 'cold', 0.005);
INSERT INTO problem VALUES(1, 'M=16,N=4096');
INSERT INTO config VALUES(1, 'BLOCK=64,SCHEDULE=row');
INSERT INTO sweep VALUES(1, 'sweep', '', '', 1, 'done', '2026-11-20T10:00:00Z', NULL, 'host', 'boot',
                         1, 1);
INSERT INTO trial(id, device_id, kernel_id, toolchain_id, protocol_id, problem_id, config_id,
                  sweep_id, attempts, claimed_at, status, median_ns, ci_low_ns, ci_high_ns, stop,
                  finished_at)
  VALUES(1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 'correct', 2, 2, 2, 'time_limit', '2026-11-20T10:00:01Z');
INSERT INTO samples VALUES(1, x'0000000000000040');
INSERT INTO validation VALUES(1, 0.001, 0.01, 0.25, 65536);
INSERT INTO sweep_trial VALUES(1, 1);
INSERT INTO baseline VALUES(1, 1, 1, 'gemm_bf16', 1, 1, 1, 'cublaslt_best', '', 2, 2, 2,
                            'precision', x'0000000000000040', '2026-11-20T10:00:02Z');
INSERT INTO rank VALUES(1, 1, 1, 'gemm_bf16', 1, 1, 30, '2026-11-20T10:00:03Z');
INSERT INTO rank_entry VALUES(1, 0, 'gemm', 'BLOCK=64,SCHEDULE=row', 2, 1, 1, 1, 1, 1, 1, 1, 1, '',
                              x'0000000000000040');
)sql";

TEST(Migration, AFileOfSchemaOneKeepsWhatItHolds) {
  TempFolder folder;
  {
    Database database = Database::open(folder / "x.db", kShort);
    database.exec("PRAGMA foreign_keys = ON");  // as it is when a store migrates
    migrate(database, schema_steps().first(1));
    database.exec(kOldRows);
  }
  Store store = Store::open(folder / "x.db");
  EXPECT_THAT(damage(store), IsEmpty());
  const std::optional<TrialRow> trial = store.trial(1);
  ASSERT_TRUE(trial && trial->record.outcome.timing);
  const Timing& timing = *trial->record.outcome.timing;
  EXPECT_EQ(timing.samples_ns, std::vector<double>{2});
  EXPECT_EQ(timing.stop, StopReason::time_limit);
  EXPECT_TRUE(timing.clocks_mhz.empty());
  EXPECT_EQ(timing.clock_mhz, 0);
  EXPECT_FALSE(timing.state);
  EXPECT_EQ(trial->record.outcome.validation->elements, 65536);
  ASSERT_EQ(store.baselines({}).size(), 1u);
  EXPECT_EQ(store.baselines({})[0].record.timing.stop, StopReason::precision);
  ASSERT_EQ(store.ranks({}).size(), 1u);
  EXPECT_EQ(store.ranks({})[0].record.entries.size(), 1u);
  EXPECT_FALSE(store.ranks({})[0].record.noise);

  // It also accepts what the new schema adds.
  const std::int64_t sweep = store.begin_sweep("sweep", "", "", h200(), "");
  TrialRecord raced = timed_record(key_of(128));
  raced.outcome.timing->stop = StopReason::raced;
  EXPECT_EQ(store.claim(sweep, key_of(64)), Claim::done);
  EXPECT_EQ(store.claim(sweep, key_of(128)), Claim::fresh);
  store.finish(sweep, raced);
  EXPECT_EQ(describe(store.find(sweep, key_of(128)).value()), describe(raced));
}

// What a file of schema 2 holds in addition.
constexpr const char* kInstrumentRows = R"sql(
UPDATE trial SET clock_mhz = 1755, throttle_reasons = 4, power_w = 699, temperature_c = 61;
UPDATE samples SET clocks_mhz = x'0000000000006c40';
INSERT INTO rank_noise VALUES(1, 'gemm', 'BLOCK=64,SCHEDULE=row', 1, 1, 1, x'0000000000000040');
)sql";

TEST(Migration, AFileOfSchemaTwoKeepsWhatItHoldsAndTellsNothingNew) {
  TempFolder folder;
  {
    Database database = Database::open(folder / "x.db", kShort);
    database.exec("PRAGMA foreign_keys = ON");
    migrate(database, schema_steps().first(1));
    database.exec(kOldRows);
    migrate(database, schema_steps().first(2));
    database.exec(kInstrumentRows);
  }
  Store store = Store::open(folder / "x.db");
  EXPECT_THAT(damage(store), IsEmpty());
  const Timing timing = store.trial(1).value().record.outcome.timing.value();
  EXPECT_EQ(timing.clocks_mhz, std::vector<double>{224});
  EXPECT_EQ(timing.clock_mhz, 1755);
  EXPECT_EQ(timing.state.value(), (GpuState{4, 699, 61}));
  EXPECT_EQ(timing.num_throttled, 0);
  EXPECT_EQ(timing.roofline_ns, 0);
  EXPECT_EQ(store.baselines({}).at(0).record.timing.roofline_ns, 0);

  ASSERT_EQ(store.ranks({}).size(), 1u);
  RankRecord rank = store.ranks({})[0].record;
  EXPECT_TRUE(rank.noise);
  EXPECT_EQ(rank.objective, Objective::time);
  const RankEntry entry = rank.entries.at(0);
  EXPECT_FALSE(entry.eliminated);
  EXPECT_TRUE(entry.clocks_mhz.empty());
  EXPECT_EQ(entry.cycles_ratio_to_best.value, 0);
  EXPECT_EQ(entry.energy_j, 0);
  EXPECT_EQ(entry.roofline_ns, 0);

  // A verdict by energy answers another question, so both stay.
  rank.objective = Objective::energy;
  store.add_rank(store.begin_sweep("sweep", "", "", h200(), ""), rank);
  EXPECT_EQ(store.ranks({}).size(), 2u);
}

TEST(Migration, ATrialOfAnOlderFileIsNotVerifiedYetAndCanBe) {
  TempFolder folder;
  {
    Database database = Database::open(folder / "x.db", kShort);
    migrate(database, schema_steps().first(1));
    database.exec(kOldRows);
  }
  Store store = Store::open(folder / "x.db");
  EXPECT_FALSE(store.trial(1).value().record.verification);
  const Verification verification{{{"data", CheckResult::passed, "16 seeds"}},
                                  {"13.0", "90a", "", "580.1"},
                                  "2026-11-22T10:00:00Z"};
  store.add_verification(*store.trial(1), verification);
  EXPECT_EQ(store.trial(1).value().record.verification, verification);
  EXPECT_THAT(damage(store), IsEmpty());
}

// What was compiled and not run was called correct, though nothing had looked at an output.
TEST(Migration, WhatWasOnlyCompiledIsNoLongerCalledCorrect) {
  TempFolder folder;
  {
    Database database = Database::open(folder / "x.db", kShort);
    migrate(database, schema_steps().first(1));
    database.exec(kOldRows);
    database.exec(
        "INSERT INTO config VALUES(2, 'BLOCK=128,SCHEDULE=row');"
        "INSERT INTO trial(id, device_id, kernel_id, toolchain_id, protocol_id, problem_id,"
        " config_id, sweep_id, attempts, claimed_at, status, kind, message, finished_at)"
        " VALUES(2, 1, 1, 1, 1, 1, 2, 1, 1, 0, 'correct', 'compiled', 'compiled, not run',"
        " '2026-11-20T10:00:01Z')");
  }
  Store store = Store::open(folder / "x.db");
  EXPECT_THAT(damage(store), IsEmpty());
  const Outcome compiled = store.trial(2).value().record.outcome;
  EXPECT_EQ(compiled.status, Status::compiled);
  EXPECT_EQ(compiled.kind, "");
  EXPECT_EQ(compiled.message, "");
  EXPECT_EQ(store.trial(1).value().record.outcome.status, Status::correct);
  Filter filter;
  filter.status = "compiled";
  EXPECT_EQ(store.trials(filter).size(), 1u);
  // The index of what is running is still there, and claims work as before.
  const std::int64_t sweep = store.begin_sweep("sweep", "", "", h200(), "");
  EXPECT_EQ(store.claim(sweep, key_of(256)), Claim::fresh);
  EXPECT_EQ(store.claim(sweep, key_of(64)), Claim::done);
}

TEST(Migration, AnOlderFileIsNotChangedByReading) {
  TempFolder folder;
  fill(folder / "x.db", 1);
  Database database = Database::open_readonly(folder / "x.db");
  std::vector<const char*> steps(schema_steps().begin(), schema_steps().end());
  steps.push_back("CREATE TABLE second(x INTEGER) STRICT");
  EXPECT_THAT(message_of<Error>([&] { require_newest_schema(database, steps); }),
              HasSubstr("was written by an older assay (schema 11; this one knows 12)"));
}

}  // namespace
}  // namespace assay
