#include "store/database.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "store/schema.h"
#include "store/store_fixture.h"

namespace assay {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::chrono::milliseconds kShort(20);

void run_sql(const std::filesystem::path& path, const char* sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(handle, sql, nullptr, nullptr, &message), SQLITE_OK) << message;
  sqlite3_free(message);
  sqlite3_close(handle);
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

void fill(const std::filesystem::path& path, std::int64_t num_trials) {
  Store store = Store::open(path);
  const std::int64_t sweep = store.begin_sweep("sweep", "", "", h200(), "");
  for (std::int64_t i = 0; i < num_trials; ++i) {
    store.claim(sweep, key_of(i));
    store.finish(sweep, timed_record(key_of(i)));
  }
  store.end_sweep(sweep, "done");
}

std::string refusal(const std::filesystem::path& path) {
  return message_of<Error>([&] { Store::open(path, kShort); });
}

// `best` of 600,000 trials took no notice of Ctrl-C until it had read them all.
TEST(Reading, EndsAtCtrlC) {
  TempFolder folder;
  const std::filesystem::path path = folder / "x.db";
  fill(path, 2000);
  const pid_t pid = start_process([&] {
    const Store store = Store::open_readonly(path);
    catch_interrupts();
    if (store.results({}).trials.size() != 2000) return 1;
    ::raise(SIGINT);
    try {
      store.results({});
    } catch (const Interrupted&) {
      return 0;
    }
    return 2;
  });
  EXPECT_EQ(wait_for(pid), 0);
}

// The end of a sweep waited for the reader until it gave up, and all who write waited with it.
TEST(Wal, AnIdleReaderDoesNotKeepASweepFromEnding) {
  TempFolder folder;
  const std::filesystem::path path = folder / "x.db";
  fill(path, 10);
  Store store = Store::open(path, std::chrono::minutes(10));
  Database reader = Database::open_readonly(path);
  const Transaction reading(reader, Transaction::Mode::read);
  EXPECT_EQ(reader.integer("SELECT count(*) FROM trial"), 10);
  store.end_sweep(store.begin_sweep("sweep", "", "", {}, ""), "done");
}

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
  const Verification verification{
      {{"data", CheckResult::passed, "16 seeds"}}, {"13.0", "90a", "", "580.1"}, "2026-11-22"};
  store.add_verification(1, verification);
  EXPECT_EQ(store.trial(1).value().record.verification, verification);
  EXPECT_THAT(damage(store), IsEmpty());
}

TEST(Migration, AnOlderFileIsNotChangedByReading) {
  TempFolder folder;
  fill(folder / "x.db", 1);
  Database database = Database::open_readonly(folder / "x.db");
  std::vector<const char*> steps(schema_steps().begin(), schema_steps().end());
  steps.push_back("CREATE TABLE second(x INTEGER) STRICT");
  EXPECT_THAT(message_of<Error>([&] { require_newest_schema(database, steps); }),
              HasSubstr("was written by an older assay (schema 10; this one knows 11)"));
}

TEST(Refusal, SaysWhatTheFileIs) {
  TempFolder folder;
  write_text(folder / "text.db", std::string(5000, 'x'));
  EXPECT_THAT(refusal(folder / "text.db"), EndsWith("text.db is not an assay database"));

  run_sql(folder / "other.db", "CREATE TABLE x(y)");
  EXPECT_THAT(refusal(folder / "other.db"),
              EndsWith("other.db is another program's database, not an assay database"));
  run_sql(folder / "tagged.db", "PRAGMA application_id = 5");
  EXPECT_THAT(refusal(folder / "tagged.db"), HasSubstr("another program's"));

  fill(folder / "newer.db", 1);
  run_sql(folder / "newer.db", "PRAGMA user_version = 11");
  EXPECT_THAT(refusal(folder / "newer.db"),
              EndsWith("was written by a newer assay (schema 11; this one knows 10)"));
  EXPECT_THAT(message_of<Error>([&] { Store::open_readonly(folder / "newer.db"); }),
              EndsWith("was written by a newer assay (schema 11; this one knows 10)"));

  // One below any schema was read as old, and as new enough by what would have brought it up.
  for (const char* schema : {"-1", "0"}) {
    run_sql(folder / "newer.db", fmt::format("PRAGMA user_version = {}", schema).c_str());
    const std::string said = fmt::format("is damaged: no assay wrote its schema {}", schema);
    EXPECT_THAT(refusal(folder / "newer.db"), EndsWith(said));
    EXPECT_THAT(message_of<Error>([&] { Store::open_readonly(folder / "newer.db"); }),
                EndsWith(said));
  }

  EXPECT_THAT(refusal(folder / "no/such/x.db"), HasSubstr("there is no folder"));
  EXPECT_THAT(message_of<UsageError>([&] { Store::open_readonly(folder / "none.db"); }),
              StartsWith("there is no database"));
  EXPECT_FALSE(std::filesystem::exists(folder / "none.db"));
  // Who waited for the pipe's writer could not be interrupted.
  ASSERT_EQ(mkfifo((folder / "pipe.db").c_str(), 0600), 0);
  for (const auto& [path, what] :
       {std::pair(folder / "pipe.db", "pipe.db: expected a database, found a pipe"),
        std::pair(folder.path(), ": expected a database, found a folder"),
        std::pair(std::filesystem::path(),
                  "expected the path of a database, found an empty one")}) {
    EXPECT_THAT(message_of<UsageError>([&] { Store::open(path); }), EndsWith(what));
    EXPECT_THAT(message_of<UsageError>([&] { Store::open_readonly(path); }), EndsWith(what));
  }
  // A sweep ended well, and all that it measured was gone.
  EXPECT_EQ(message_of<UsageError>([] { Store::open(":memory:"); }),
            ":memory:: expected the path of a database, found one that is not kept");
  write_text(folder / "empty.db", "");
  EXPECT_THAT(message_of<Error>([&] { Store::open_readonly(folder / "empty.db"); }),
              EndsWith("empty.db is empty, not an assay database"));
}

TEST(Refusal, LeavesAnothersFileAsItWas) {
  TempFolder folder;
  run_sql(folder / "other.db", "CREATE TABLE x(y)");
  const std::string before = read_file(folder / "other.db");
  refusal(folder / "other.db");
  EXPECT_EQ(read_file(folder / "other.db"), before);
}

// A trigger in a file that somebody else made deleted all trials as soon as one was added.
TEST(Refusal, RunsNoTriggerAndNoViewOfAFile) {
  TempFolder folder;
  fill(folder / "x.db", 1);
  run_sql(folder / "x.db", "CREATE TRIGGER t AFTER INSERT ON sweep BEGIN DELETE FROM sweep; END");
  Store::open(folder / "x.db").begin_sweep("another", "", "", h200(), "");
  EXPECT_EQ(Database::open_readonly(folder / "x.db").integer("SELECT count(*) FROM sweep"), 2);
  // This one has no end.
  run_sql(folder / "x.db",
          "DROP TRIGGER t; ALTER TABLE screened RENAME TO screened_; CREATE VIEW screened AS WITH "
          "RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS sweep_id, x AS "
          "op, x AS problem_id FROM n");
  EXPECT_THAT(message_of<Error>([&] { Store::open_readonly(folder / "x.db").results({}); }),
              HasSubstr("x.db is damaged"));
}

// While this is registered, SQLite runs it for each connection that is opened.
int limit_pages(sqlite3* handle, char**, const sqlite3_api_routines*) {
  return sqlite3_exec(handle, "PRAGMA max_page_count = 80", nullptr, nullptr, nullptr);
}

class SmallDisk {
 public:
  SmallDisk() { sqlite3_auto_extension(reinterpret_cast<void (*)()>(limit_pages)); }
  ~SmallDisk() { sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(limit_pages)); }
};

TEST(FullDisk, EndsWithASentenceAndKeepsWhatIsStored) {
  TempFolder folder;
  std::size_t num_stored = 0;
  {
    const SmallDisk disk;
    Store store = Store::open(folder / "x.db");
    const std::int64_t sweep = store.begin_sweep("sweep", "", "", h200(), "");
    TrialRecord record = timed_record(key_of(0));
    record.outcome.timing->samples_ns.assign(1000, 5.0);
    record.outcome.timing->clocks_mhz.clear();
    record.outcome.timing->median_ns = 5.0;
    const std::string message = message_of<Error>([&] {
      for (std::int64_t i = 0; i < 1000; ++i) {
        record.config = key_of(i).config;
        store.claim(sweep, key_of(i));
        store.finish(sweep, record);
        ++num_stored;
      }
    });
    EXPECT_THAT(message, EndsWith("x.db: the disk is full; what was stored before is kept"));
    EXPECT_GT(num_stored, 5u);
    EXPECT_EQ(store.trials({}).size(), num_stored) << "the store goes on answering";
    store.end_sweep(sweep, "failed");
  }
  Store store = Store::open(folder / "x.db");
  EXPECT_EQ(store.trials({}).size(), num_stored);
  EXPECT_THAT(damage(store), IsEmpty());
}

TEST(Lock, HeldForTooLongIsASentence) {
  TempFolder folder;
  fill(folder / "x.db", 1);
  Store store = Store::open(folder / "x.db", kShort);
  std::array<int, 2> ready{}, release{};
  ASSERT_EQ(pipe(ready.data()), 0);
  ASSERT_EQ(pipe(release.data()), 0);
  UniqueFd ready_out(ready[0]), ready_in(ready[1]), release_out(release[0]), release_in(release[1]);
  const pid_t holder = start_process([&] {
    Database database = Database::open(folder / "x.db", kShort);
    Transaction transaction(database, Transaction::Mode::write);
    char byte = 'x';
    if (write(ready_in.get(), &byte, 1) != 1) return 1;
    return read(release_out.get(), &byte, 1) == 1 ? 0 : 1;
  });
  char byte = 0;
  ASSERT_EQ(read(ready_out.get(), &byte, 1), 1);
  EXPECT_THAT(message_of<Error>([&] { store.begin_sweep("sweep", "", "", h200(), ""); }),
              EndsWith("x.db: another process has kept it locked for too long"));
  EXPECT_EQ(store.trials({}).size(), 1u) << "reading needs no lock";
  ASSERT_EQ(write(release_in.get(), &byte, 1), 1);
  EXPECT_EQ(wait_for(holder), 0);
  EXPECT_GT(store.begin_sweep("sweep", "", "", h200(), ""), 0);
}

TEST(ReadOnly, FileIsRefusedForWritingAndReadInAFolderThatCannotBeWritten) {
  TempFolder folder;
  fill(folder / "x.db", 3);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
  std::filesystem::permissions(folder / "x.db", std::filesystem::perms(0444));
  // Root may write anything, so a process without privileges does the asking.
  const pid_t pid = start_process([&] {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 1;
    if (!message_of<Error>([&] { Store::open(folder / "x.db"); }).ends_with("is read-only")) {
      return 2;
    }
    return Store::open_readonly(folder / "x.db").trials({}).size() == 3 ? 0 : 3;
  });
  EXPECT_EQ(wait_for(pid), 0);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
}

TEST(ReadOnly, RowsThatOnlyTheWalHasAreNotLeftOutSilently) {
  TempFolder folder;
  // A process that is killed before a checkpoint leaves its rows in the -wal file.
  fill(folder / "y.db", 0);
  const pid_t killed = start_process([&] {
    Store store = Store::open(folder / "y.db");
    const std::int64_t sweep = store.begin_sweep("sweep", "", "", h200(), "");
    store.finish(sweep, timed_record(key_of(1)));
    kill(getpid(), SIGKILL);
    return 0;
  });
  wait_for(killed);
  ASSERT_GT(std::filesystem::file_size(folder / "y.db-wal"), 0u);
  std::filesystem::remove(folder / "y.db-shm");
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
  const pid_t reader = start_process([&] {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 1;
    const std::string message = message_of<Error>([&] { Store::open_readonly(folder / "y.db"); });
    return message.find("its newest rows are still in") != std::string::npos ? 0 : 2;
  });
  EXPECT_EQ(wait_for(reader), 0);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  EXPECT_EQ(Store::open_readonly(folder / "y.db").trials({}).size(), 1u);
}

TEST(ReadOnly, APathWithTheCharactersOfAUriIsRead) {
  TempFolder folder;
  const auto path = folder / "50%#1?x=y.db";
  fill(path, 1);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
  const pid_t pid = start_process([&] {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 1;
    return Store::open_readonly(path).trials({}).size() == 1 ? 0 : 2;
  });
  EXPECT_EQ(wait_for(pid), 0);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
}

TEST(Damage, IsFoundByCheckOrRefusedButNeverACrash) {
  TempFolder folder;
  fill(folder / "x.db", 300);
  const std::string intact = read_file(folder / "x.db");
  int num_found = 0;
  constexpr std::size_t kPage = 4096;
  for (std::size_t page = 1; page < intact.size() / kPage; page += 3) {
    std::string damaged = intact;
    damaged.replace(page * kPage, 64, std::string(64, '\xaa'));
    write_text(folder / "y.db", damaged);
    try {
      Store store = Store::open(folder / "y.db");
      num_found += store.check().empty() ? 0 : 1;
      store.trials({});
    } catch (const Error& error) {
      ++num_found;
    }
  }
  EXPECT_GT(num_found, 5);
}

}  // namespace
}  // namespace assay
