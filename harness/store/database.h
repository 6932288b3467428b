#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"

namespace assay {

/// One run of a prepared statement: binds its parameters in order, steps through the rows, and
/// makes the statement ready for the next run when it goes out of scope.
class Query {
 public:
  template <class... Values>
  Query(SQLite::Statement& statement, const Values&... values) : statement_(statement) {
    (bind(++num_bound_, values), ...);
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query();

  /// Whether there is another row.
  bool step() { return statement_.executeStep(); }
  /// Runs a statement that returns no rows.
  void run() { statement_.executeStep(); }

  std::int64_t integer(int column) const { return statement_.getColumn(column).getInt64(); }
  int small(int column) const { return statement_.getColumn(column).getInt(); }
  bool flag(int column) const { return integer(column) != 0; }
  std::string text(int column) const { return statement_.getColumn(column).getString(); }
  bool is_null(int column) const { return statement_.isColumnNull(column); }
  /// SQLite keeps NaN as NULL, so NULL reads as NaN.
  double real(int column) const;
  /// For figures that are NULL where they are not known.
  double real_or_zero(int column) const { return is_null(column) ? 0 : real(column); }
  /// A packed array of float64. If its length is damaged, the odd bytes are lost; `assay db check`
  /// names such rows.
  std::vector<double> reals(int column) const;

 private:
  void bind(int index, int value) { statement_.bind(index, value); }
  void bind(int index, std::int64_t value) { statement_.bind(index, value); }
  void bind(int index, double value) { statement_.bind(index, value); }
  void bind(int index, bool value) { statement_.bind(index, value ? 1 : 0); }
  void bind(int index, const std::string& value) { statement_.bind(index, value); }
  void bind(int index, std::string_view value) { statement_.bind(index, std::string(value)); }
  void bind(int index, const char* value) { statement_.bind(index, value); }
  void bind(int index, std::nullptr_t) { statement_.bind(index); }
  void bind(int index, std::span<const double> values);
  template <class Value>
  void bind(int index, const std::optional<Value>& value) {
    value ? bind(index, *value) : bind(index, nullptr);
  }

  SQLite::Statement& statement_;
  int num_bound_ = 0;
};

/// One connection to a database file, with a cache of prepared statements.
class Database {
 public:
  /// Opens for writing, creating the file if it is not there; does not look at the schema.
  static Database open(const std::filesystem::path& path, std::chrono::milliseconds lock_timeout);
  /// Opens for reading. A file whose folder cannot be written is read as it stands.
  static Database open_readonly(const std::filesystem::path& path);
  static Database in_memory();

  const std::filesystem::path& path() const { return path_; }
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

  /// Runs `action`, turning SQLite's exceptions into an Error that says what happened to this file.
  template <class Action>
  auto guarded(Action&& action) const {
    try {
      return action();
    } catch (const SQLite::Exception& error) {
      throw Error(explain(path_, error));
    }
  }
  static std::string explain(const std::filesystem::path& path, const SQLite::Exception& error);

 private:
  Database(const std::filesystem::path& path, SQLite::Database handle);
  SQLite::Statement& prepared(std::string_view sql);

  std::filesystem::path path_;
  SQLite::Database handle_;
  std::unordered_map<std::string_view, SQLite::Statement> statements_;
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
