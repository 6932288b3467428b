#include "store/database.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>

#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "matchers.h"
#include "store/store_fixture.h"

namespace assay {
namespace {

void run_sql(const std::filesystem::path& path, const char* sql) {
  SQLite::Database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql);
}

std::string refusal(const std::filesystem::path& path) {
  return message_of<Error>([&] { Store::open(path, kShort); });
}

/// Of a file that is none of ours.
std::string mistake(const std::filesystem::path& path) {
  return message_of<UsageError>([&] { Store::open(path, kShort); });
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

TEST(Refusal, SaysWhatTheFileIs) {
  TempFolder folder;
  EXPECT_THAT(mistake(folder.write("text.db", std::string(5000, 'x'))),
              EndsWith("text.db is not an assay database"));

  run_sql(folder / "other.db", "CREATE TABLE x(y)");
  EXPECT_THAT(mistake(folder / "other.db"),
              EndsWith("other.db is another program's database, not an assay database"));
  run_sql(folder / "tagged.db", "PRAGMA application_id = 5");
  EXPECT_THAT(mistake(folder / "tagged.db"), HasSubstr("another program's"));

  // One below any schema was read as old, and as new enough by what would have brought it up.
  fill(folder / "numbered.db", 1);
  run_sql(folder / "numbered.db", "PRAGMA user_version = -1");
  const std::string said = "is damaged: no assay wrote its schema -1";
  EXPECT_THAT(refusal(folder / "numbered.db"), EndsWith(said));
  EXPECT_THAT(message_of<Error>([&] { Store::open_readonly(folder / "numbered.db"); }),
              EndsWith(said));

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
  folder.write("empty.db", "");
  EXPECT_THAT(message_of<UsageError>([&] { Store::open_readonly(folder / "empty.db"); }),
              EndsWith("empty.db is empty, not an assay database"));
}

TEST(Refusal, LeavesAnothersFileAsItWas) {
  TempFolder folder;
  run_sql(folder / "other.db", "CREATE TABLE x(y)");
  const std::string before = read_file(folder / "other.db");
  mistake(folder / "other.db");
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
    record.outcome.timing = timing_of(std::vector(1000, 5.0));
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
  const Pipe ready, release;
  const pid_t holder = start_process([&] {
    Database database = Database::open(folder / "x.db", kShort);
    Transaction transaction(database, Transaction::Mode::write);
    return ready.say('x') && release.heard() ? 0 : 1;
  });
  ASSERT_TRUE(ready.heard());
  EXPECT_THAT(message_of<Error>([&] { store.begin_sweep("sweep", "", "", h200(), ""); }),
              HasSubstr("x.db: another process has kept it locked for too long"));
  EXPECT_EQ(store.trials({}).size(), 1u) << "reading needs no lock";
  ASSERT_TRUE(release.say('x'));
  EXPECT_EQ(wait_for(holder), 0);
  EXPECT_GT(store.begin_sweep("sweep", "", "", h200(), ""), 0);
}

// The sweep went on into a file that nobody could find any more, and ended with exit 0.
TEST(Open, WhatWouldBeLostIsNotWritten) {
  TempFolder folder;
  const auto path = folder / "x.db";
  for (const std::string how : {"deleted", "moved", "replaced"}) {
    Store store = Store::open(path);
    const std::int64_t sweep = store.begin_sweep("sweep", "", "", h200(), "");
    store.finish(sweep, timed_record(key_of(1)));
    if (how == "deleted") std::filesystem::remove(path);
    if (how != "deleted") std::filesystem::rename(path, folder / "moved.db");
    if (how == "replaced") write_file_atomic(path, "");
    EXPECT_THAT(message_of<Error>([&] { store.finish(sweep, timed_record(key_of(2))); }),
                HasSubstr("x.db: it was deleted, moved or replaced since it was opened"))
        << how;
    EXPECT_THROW(store.end_sweep(sweep, "done"), Error) << how;
    std::filesystem::remove(path);
  }
}

TEST(Open, WhereAFileSystemCannotLockALocalDiskIsNamed) {
  for (const int code : {SQLITE_IOERR_LOCK, SQLITE_IOERR_SHMMAP, SQLITE_PROTOCOL}) {
    EXPECT_THAT(message_of<Error>(
                    [&] { Database::fail("/lustre/x.db", SQLite::Exception("disk I/O", code)); }),
                HasSubstr("no locks or no shared mappings (disk I/O); name a file on a local disk "
                          "with --db"));
  }
}

/// Runs `body` where nobody may write to the folder. Root may write anything, so a process without
/// privileges does it.
int run_without_rights(const TempFolder& folder, const std::function<int()>& body) {
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
  const int code = wait_for(start_process([&] {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 1;
    return body();
  }));
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  return code;
}

TEST(ReadOnly, FileIsRefusedForWritingAndReadInAFolderThatCannotBeWritten) {
  TempFolder folder;
  fill(folder / "x.db", 3);
  std::filesystem::permissions(folder / "x.db", std::filesystem::perms(0444));
  const int code = run_without_rights(folder, [&] {
    if (!message_of<Error>([&] { Store::open(folder / "x.db"); }).ends_with("is read-only")) {
      return 2;
    }
    return Store::open_readonly(folder / "x.db").trials({}).size() == 3 ? 0 : 3;
  });
  EXPECT_EQ(code, 0);
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
  const int code = run_without_rights(folder, [&] {
    const std::string message = message_of<Error>([&] { Store::open_readonly(folder / "y.db"); });
    return message.find("its newest rows are still in") != std::string::npos ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(Store::open_readonly(folder / "y.db").trials({}).size(), 1u);
}

TEST(ReadOnly, APathWithTheCharactersOfAUriIsRead) {
  TempFolder folder;
  const auto path = folder / "50%#1?x=y.db";
  fill(path, 1);
  EXPECT_EQ(run_without_rights(
                folder, [&] { return Store::open_readonly(path).trials({}).size() == 1 ? 0 : 2; }),
            0);
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
    folder.write("y.db", damaged);
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
