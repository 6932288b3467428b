#include "store/schema.h"

#include <sqlite3.h>

#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "matchers.h"
#include "store/database.h"
#include "store/store_fixture.h"

namespace assay {
namespace {

// Two sweeps that began at once on a new file: one read its schema, 0, before the other had made
// the file, and after that whose it is. So it was called damaged.
TEST(Schema, AnotherMayMakeTheFileBeforeAnyStatement) {
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
      make_tables(database);
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
    EXPECT_NO_THROW(make_tables(database)) << before;
    EXPECT_NO_THROW(require_tables(database)) << before;
    num_statements = std::max(num_statements, other.num_statements);
  }
  EXPECT_GT(num_statements, 10);
}

// Statements of one file were transactions of their own. A file that was just being made was called
// one of an older assay.
TEST(Schema, AFileThatIsBeingMadeIsEmptyOrWhole) {
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
  make_tables(database);
  look(0, &reader, nullptr, nullptr);
  EXPECT_EQ(seen, (std::set<std::int64_t>{0, database.integer("PRAGMA user_version")}));
}

// A file of another version of Assay is neither changed nor read wrongly, and the message says how
// its results are kept.
TEST(Schema, AFileOfAnotherVersionIsRefused) {
  TempFolder folder;
  fill(folder / "x.db", 1);
  const auto set = [&](const char* version) {
    Database::open(folder / "x.db", kShort).exec(fmt::format("PRAGMA user_version = {}", version));
  };
  for (const auto& [version, says] : {std::pair("10", "was written by an older assay (schema 10;"),
                                      {"99", "was written by a newer assay (schema 99;"},
                                      {"0", "is damaged: no assay wrote its schema 0"}}) {
    set(version);
    for (const std::string& message :
         {message_of<Error>([&] { Store::open(folder / "x.db"); }),
          message_of<Error>([&] { Store::open_readonly(folder / "x.db"); })}) {
      EXPECT_THAT(message, HasSubstr(says));
      const char* const advice = version[0] == '0' ? "" : "assay export --format recording";
      EXPECT_THAT(message, HasSubstr(advice));
    }
  }
  set("11");
  EXPECT_THAT(Store::open(folder / "x.db").check(), IsEmpty());
}

}  // namespace
}  // namespace assay
