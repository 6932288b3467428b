#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <sqlite3.h>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/error.h"

namespace assay {

/// What a column or a parameter holds. Texts and arrays are kept by reference.
struct SqlValue {
  SqlValue(std::nullptr_t) : held(nullptr) {}
  SqlValue(std::integral auto number) : held(static_cast<std::int64_t>(number)) {}
  SqlValue(double number) : held(number) {}
  SqlValue(const char* text) : held(std::string_view(text)) {}
  SqlValue(std::string_view text) : held(text) {}
  SqlValue(const std::string& text) : held(std::string_view(text)) {}
  SqlValue(const std::vector<double>& numbers) : held(std::span(numbers)) {}
  template <class Held>
  SqlValue(const std::optional<Held>& value) : held(value ? SqlValue(*value).held : nullptr) {}

  std::variant<std::nullptr_t, std::int64_t, double, std::string_view, std::span<const double>>
      held;
};

/// A column of a new row.
struct Cell {
  std::string_view column;
  SqlValue value;
};

/// A prepared statement.
struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

/// One run of a prepared statement: binds its parameters in order, steps through the rows, and
/// makes the statement ready for the next run when it goes out of scope.
class Query {
 public:
  template <class... Values>
  explicit Query(sqlite3_stmt* statement, const Values&... values) : statement_(statement) {
    (bind(values, SQLITE_TRANSIENT), ...);
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  /// The reset repeats the error of the step, which was already thrown from there.
  ~Query() { sqlite3_reset(statement_); }

  /// Whether there is another row. Not to be asked again after the last.
  bool step();

  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string text(int column) const { return std::string(view(column)); }
  /// The text until the next step.
  std::string_view view(int column) const;
  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  /// SQLite keeps NaN as NULL, so NULL reads as NaN.
  double real(int column) const {
    return is_null(column) ? std::numeric_limits<double>::quiet_NaN()
                           : sqlite3_column_double(statement_, column);
  }

  // The columns one after another, in the order that the query selects them.
  std::int64_t integer() { return integer(next_++); }
  bool flag() { return integer() != 0; }
  std::string text() { return text(next_++); }
  std::string_view view() { return view(next_++); }
  double real() { return real(next_++); }
  /// For figures that are NULL where they are not known: SQLite reads NULL as 0.
  double real_or_zero() { return sqlite3_column_double(statement_, next_++); }
  /// A packed array of float64. If its length is damaged, the odd bytes are lost; `assay db check`
  /// names such rows.
  std::vector<double> reals();
  /// Whether the next column is NULL; stays before it.
  bool is_null() const { return is_null(next_); }
  void skip(int count = 1) { next_ += count; }

 private:
  void bind(const SqlValue& value, sqlite3_destructor_type copied);
  /// Without copies: cells are there while the statement runs.
  void bind(std::span<const Cell> cells, sqlite3_destructor_type) {
    for (const Cell& cell : cells) bind(cell.value, SQLITE_STATIC);
  }
  [[noreturn]] void fail(int result) const;

  sqlite3_stmt* statement_;
  int num_bound_ = 0;
  int next_ = 0;  // column of this row
};

/// A row that no assay has written. guarded() adds the file's name.
struct DamagedRow : FormattedError {
  using FormattedError::FormattedError;
};

/// One connection to a database file, with a cache of prepared statements.
class Database {
 public:
  /// Opens for writing, creating the file if it is not there; does not look at the schema.
  static Database open(const std::filesystem::path& path, std::chrono::milliseconds lock_timeout);
  /// Opens for reading. A file whose folder cannot be written is read as it stands. Ctrl-C ends a
  /// statement that takes long; guarded() then throws Interrupted.
  static Database open_readonly(const std::filesystem::path& path);
  /// One that nobody else sees. Of 10^6 trials, what exceeds 64 MiB is in a temporary file.
  static Database in_memory();

  const std::filesystem::path& path() const { return path_; }
  /// Throws Error where the path names another file by now, or none: what would be written would be
  /// lost.
  void require_same_file() const;
  SQLite::Database& handle() { return handle_; }

  /// Executes statements that take no parameters and return no rows.
  void exec(const std::string& sql) { handle_.exec(sql); }
  /// The first column of the first row.
  std::int64_t integer(const std::string& sql) { return handle_.execAndGet(sql).getInt64(); }
  /// Starts a run of a statement, prepared on first use. `sql` must be a literal: its text is kept
  /// by reference. Runs of one statement must not overlap.
  template <class... Values>
  Query query(std::string_view sql, const Values&... values) {
    return Query(prepared(sql), values...);
  }

  /// Runs a statement that returns no rows.
  template <class... Values>
  void run(std::string_view sql, const Values&... values) {
    query(sql, values...).step();
  }
  /// The first column of the first row; nothing where there is no row.
  template <class... Values>
  std::optional<std::int64_t> find(std::string_view sql, const Values&... values) {
    Query row = query(sql, values...);
    return row.step() ? std::optional(row.integer(0)) : std::nullopt;
  }

  /// The first column of every row.
  template <class... Values>
  std::vector<std::int64_t> find_all(std::string_view sql, const Values&... values) {
    std::vector<std::int64_t> found;
    for (Query row = query(sql, values...); row.step();) found.push_back(row.integer(0));
    return found;
  }

  /// Adds a row and returns its number. `table` must be a literal.
  std::int64_t insert(std::string_view table, std::initializer_list<Cell> cells) {
    return insert(table, std::span(cells.begin(), cells.size()));
  }
  std::int64_t insert(std::string_view table, std::span<const Cell> cells);
  /// Overwrites columns of the row `id`.
  void update(std::string_view table, std::int64_t id, std::span<const Cell> cells);

  /// Runs `action`, turning SQLite's exceptions into an Error that says what happened to this file.
  template <class Action>
  auto guarded(Action&& action) const {
    try {
      return action();
    } catch (const SQLite::Exception& error) {
      fail(path_, error);
    } catch (const DamagedRow& error) {
      fail_damaged(path_, error.what());
    }
  }
  [[noreturn]] static void fail(const std::filesystem::path& path, const SQLite::Exception& error);
  [[noreturn]] static void fail_damaged(const std::filesystem::path& path, std::string_view how);

 private:
  Database(const std::filesystem::path& path, SQLite::Database handle);
  sqlite3_stmt* prepared(std::string_view sql);
  Statement prepare(std::string_view sql);
  /// The text where it stays for as long as the statements.
  std::string_view kept(const std::string& sql);

  std::filesystem::path path_;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> file_;  // device and inode, to write to
  SQLite::Database handle_;
  std::unordered_map<std::string_view, Statement> statements_;
  /// The statement that adds rows to a table, with the columns that it sets.
  struct Insert {
    std::vector<std::string> columns;
    Statement statement;
  };
  std::unordered_map<std::string_view, Insert> inserts_;
  std::unordered_set<std::string> texts_;  // of the statements whose text was put together
};

/// A transaction that rolls back unless committed.
class Transaction {
 public:
  enum class Mode { read, write };
  /// `write` takes the lock at once (BEGIN IMMEDIATE). So no later statement can find out too late
  /// that another process wrote in between.
  Transaction(Database& database, Mode mode);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  Database& database_;
};

}  // namespace assay
