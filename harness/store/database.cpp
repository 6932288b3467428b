#include "store/database.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <system_error>

#include "base/interrupt.h"
#include "store/store.h"

namespace assay {
namespace {

// The packed arrays are little-endian; so is every machine that CUDA runs on.
static_assert(std::endian::native == std::endian::little);

constexpr int kReadTimeoutMs = 10'000;

// A path as an SQLite URI that promises nobody changes the file. '?' and '#' would end the path.
std::string immutable_uri(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

std::uintmax_t size_of(const std::filesystem::path& path) {
  std::error_code missing;
  const std::uintmax_t size = std::filesystem::file_size(path, missing);
  return missing ? 0 : size;
}

/// Refuses what SQLite has no good word for. To open a pipe waits for its writer, whatever signals
/// arrive.
void require_file(const std::filesystem::path& path) {
  if (path.empty()) throw UsageError("expected the path of a database, found an empty one");
  if (path == ":memory:") {
    throw UsageError(":memory:: expected the path of a database, found one that is not kept");
  }
  std::error_code missing;
  const std::filesystem::file_status status = std::filesystem::status(path, missing);
  if (std::filesystem::is_fifo(status) || std::filesystem::is_socket(status)) {
    throw UsageError("{}: expected a database, found a pipe", path.string());
  }
  if (std::filesystem::is_directory(status)) {
    throw UsageError("{}: expected a database, found a folder", path.string());
  }
  if (std::filesystem::is_character_file(status) || std::filesystem::is_block_file(status)) {
    throw UsageError("{}: expected a database, found a device", path.string());
  }
}

/// The device and the inode. Nothing where there is no such file.
std::optional<std::pair<std::uint64_t, std::uint64_t>> file_at(const std::filesystem::path& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return std::pair<std::uint64_t, std::uint64_t>{info.st_dev, info.st_ino};
}

}  // namespace

bool Query::step() {
  next_ = 0;
  const int result = sqlite3_step(statement_);
  if (result != SQLITE_ROW && result != SQLITE_DONE) fail(result);
  return result == SQLITE_ROW;
}

std::string_view Query::view(int column) const {
  const void* const text = sqlite3_column_blob(statement_, column);
  if (text == nullptr) return {};
  return {static_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::vector<double> Query::reals() {
  const std::string_view bytes = view();
  std::vector<double> values(bytes.size() / sizeof(double));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
  return values;
}

void Query::bind(const SqlValue& value, sqlite3_destructor_type copied) {
  // A null pointer would bind NULL, so what is empty needs an address, too.
  const int place = ++num_bound_;
  const int result = std::visit(
      [&]<class Held>(const Held& held) {
        if constexpr (std::same_as<Held, std::nullptr_t>) {
          return sqlite3_bind_null(statement_, place);
        } else if constexpr (std::same_as<Held, std::int64_t>) {
          return sqlite3_bind_int64(statement_, place, held);
        } else if constexpr (std::same_as<Held, double>) {
          return sqlite3_bind_double(statement_, place, held);
        } else if constexpr (std::same_as<Held, std::string_view>) {
          return sqlite3_bind_text64(statement_, place, held.empty() ? "" : held.data(),
                                     held.size(), copied, SQLITE_UTF8);
        } else {
          const void* const data = held.empty() ? static_cast<const void*>("") : held.data();
          return sqlite3_bind_blob64(statement_, place, data, held.size_bytes(), copied);
        }
      },
      value.held);
  if (result != SQLITE_OK) fail(result);
}

void Query::fail(int result) const {
  throw SQLite::Exception(sqlite3_db_handle(statement_), result);
}

Database::Database(const std::filesystem::path& path, SQLite::Database handle)
    : path_(path), handle_(std::move(handle)) {
  // This program needs none of these. In a file that somebody else made, a trigger could delete
  // what is stored, and a view in place of a table could run for ever.
  for (const int code : {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW}) {
    sqlite3_db_config(handle_.getHandle(), code, 0, nullptr);
  }
}

Database Database::open(const std::filesystem::path& path, std::chrono::milliseconds lock_timeout) {
  require_file(path);
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (!std::filesystem::is_directory(folder)) {
    throw Error("cannot open {}: there is no folder {}", path.string(), folder.string());
  }
  try {
    // The timeout comes before any statement: even the first read may meet another's lock.
    Database database(
        path, SQLite::Database(path.string(),
                               SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX,
                               static_cast<int>(lock_timeout.count())));
    if (sqlite3_db_readonly(database.handle_.getHandle(), "main") == 1) {
      throw Error("cannot write {}: the file is read-only", path.string());
    }
    database.file_ = file_at(path);
    return database;
  } catch (const SQLite::Exception& error) {
    fail(path, error);
  }
}

Database Database::open_readonly(const std::filesystem::path& path) {
  require_file(path);
  const auto opened = [&path](const std::string& name, int flags, int timeout_ms) {
    Database database(
        path,
        SQLite::Database(name, SQLite::OPEN_READONLY | SQLite::OPEN_NOMUTEX | flags, timeout_ms));
    database.integer("SELECT count(*) FROM sqlite_schema");
    // Ctrl-C ends the statements of a connection that only reads: there is nothing to keep.
    constexpr int kStepsBetween = 10'000;  // of SQLite's machine: well below a millisecond
    sqlite3_progress_handler(
        database.handle_.getHandle(), kStepsBetween, [](void*) { return interrupted() ? 1 : 0; },
        nullptr);
    return database;
  };
  try {
    return opened(path.string(), 0, kReadTimeoutMs);
  } catch (const SQLite::Exception& error) {
    // Reading a WAL database needs a -shm file beside it. Where none can be made nobody can write
    // either, so the file may be read as it stands, unless a crash left a part of it in the WAL.
    const int code = error.getErrorCode() & 0xff;
    if (code != SQLITE_CANTOPEN && code != SQLITE_READONLY) fail(path, error);
    const std::string wal = path.string() + "-wal";
    if (size_of(wal) > 0) {
      throw Error(
          "cannot read {}: its newest rows are still in {}; copy both files to a folder that can "
          "be written and open the copy",
          path.string(), wal);
    }
  }
  try {
    return opened(immutable_uri(path), SQLite::OPEN_URI, 0);
  } catch (const SQLite::Exception& error) {
    fail(path, error);
  }
}

Database Database::in_memory() {
  Database database(":memory:", SQLite::Database("", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE |
                                                         SQLite::OPEN_NOMUTEX));
  database.exec("PRAGMA cache_size = -65536");  // KiB
  return database;
}

void Database::require_same_file() const {
  if (!file_ || file_at(path_) == file_) return;
  throw Error(
      "cannot write {}: it was deleted, moved or replaced since it was opened; what was stored "
      "until then is in the file that it was",
      path_.string());
}

std::string_view Database::kept(const std::string& sql) { return *texts_.insert(sql).first; }

std::int64_t Database::insert(std::string_view table, std::span<const Cell> cells) {
  auto& [columns, statement] = inserts_[table];
  const auto names = [](const Cell& cell, const std::string& column) {
    return cell.column == column;
  };
  if (!std::equal(cells.begin(), cells.end(), columns.begin(), columns.end(), names)) {
    columns.clear();
    for (const Cell& cell : cells) columns.emplace_back(cell.column);
    statement =
        prepare(fmt::format("INSERT INTO {}({}) VALUES({})", table, fmt::join(columns, ","),
                            fmt::join(std::vector<std::string_view>(columns.size(), "?"), ",")));
  }
  Query(statement.get(), cells).step();
  return handle_.getLastInsertRowid();
}

void Database::update(std::string_view table, std::int64_t id, std::span<const Cell> cells) {
  std::string columns;
  for (const Cell& cell : cells) {
    columns.append(columns.empty() ? "" : ", ").append(cell.column).append(" = ?");
  }
  run(kept(fmt::format("UPDATE {} SET {} WHERE id = ?", table, columns)), cells, id);
}

Statement Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int result =
      sqlite3_prepare_v3(handle_.getHandle(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (result != SQLITE_OK) throw SQLite::Exception(handle_.getHandle(), result);
  return Statement(statement);
}

sqlite3_stmt* Database::prepared(std::string_view sql) {
  Statement& statement = statements_[sql];
  if (!statement) statement = prepare(sql);
  return statement.get();
}

void Database::fail(const std::filesystem::path& path, const SQLite::Exception& error) {
  const std::string name = path.string();
  constexpr std::string_view kLocalDisk =
      "name a file on a local disk with --db, and merge what several machines stored with `assay "
      "db merge`";
  for (const int code : {SQLITE_PROTOCOL, SQLITE_NOLFS, SQLITE_IOERR_LOCK, SQLITE_IOERR_UNLOCK,
                         SQLITE_IOERR_RDLOCK, SQLITE_IOERR_CHECKRESERVEDLOCK, SQLITE_IOERR_SHMOPEN,
                         SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMLOCK, SQLITE_IOERR_SHMSIZE}) {
    if (error.getErrorCode() != code && error.getExtendedErrorCode() != code) continue;
    throw Error("cannot use {}: its file system has no locks or no shared mappings ({}); {}", name,
                error.what(), kLocalDisk);
  }
  switch (error.getErrorCode() & 0xff) {
    case SQLITE_INTERRUPT:
      throw Interrupted();
    case SQLITE_FULL:
      throw Error("cannot write {}: the disk is full; what was stored before is kept", name);
    case SQLITE_READONLY:
      throw Error("cannot write {}: the file or its folder is read-only", name);
    case SQLITE_CANTOPEN:
      throw Error("cannot open {}: it is not a file that can be opened, or its folder is read-only",
                  name);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw Error(
          "cannot write {}: another process has kept it locked for too long, or its file "
          "system has no locks: then {}",
          name, kLocalDisk);
    case SQLITE_NOTADB:
      throw UsageError("{} is not an assay database", name);
    case SQLITE_CORRUPT:
    case SQLITE_ERROR:  // the statements are right, so a table or a column is not there
      fail_damaged(path, error.what());
    case SQLITE_IOERR:
      throw Error("cannot read or write {}: {} (code {})", name, error.what(),
                  error.getExtendedErrorCode());
    default:
      throw Error("{}: {} (code {})", name, error.what(), error.getExtendedErrorCode());
  }
}

void Database::fail_damaged(const std::filesystem::path& path, std::string_view how) {
  throw DamagedDatabase(
      fmt::format("{0} is damaged ({1}); `assay db check --db {0}` says what is lost",
                  path.string(), how),
      how);
}

Transaction::Transaction(Database& database, Mode mode) : database_(database) {
  // SQLite answers BUSY without waiting where waiting could deadlock (as while another process
  // recovers the WAL after a crash), so the lock is asked for more than once.
  constexpr int kMaxTries = 3;
  if (mode == Mode::write) database_.require_same_file();
  const char* begin = mode == Mode::write ? "BEGIN IMMEDIATE" : "BEGIN";
  for (int tries = 1;; ++tries) {
    try {
      database_.run(begin);
      return;
    } catch (const SQLite::Exception& error) {
      if ((error.getErrorCode() & 0xff) != SQLITE_BUSY || tries == kMaxTries) throw;
    }
  }
}

Transaction::~Transaction() {
  // Some errors (a full disk) have rolled back already.
  sqlite3* handle = database_.handle().getHandle();
  if (sqlite3_get_autocommit(handle) == 0) {
    sqlite3_exec(handle, "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

void Transaction::commit() { database_.run("COMMIT"); }

}  // namespace assay
