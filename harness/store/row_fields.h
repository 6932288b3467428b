#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <deque>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/fields.h"
#include "store/rows.h"

// Records as rows of the database: visitors of their fields.

namespace assay {

/// Calls `take` with each of "a, b, c".
template <class Take>
void for_each_column(std::string_view columns, Take&& take) {
  while (!columns.empty()) {
    const std::size_t end = std::min(columns.find(','), columns.size());
    take(columns.substr(0, end));
    columns.remove_prefix(std::min(end + 2, columns.size()));
  }
}

/// Names the columns of a record for a SELECT, in the order in which RowFields reads them.
class ColumnNames {
 public:
  explicit ColumnNames(std::string_view table) : table_(table) {}

  template <class Member, class... More>
  void operator()(const Field& field, const Member&, const More&...) {
    using Record = typename Held<Member>::Type;
    if (!field.column) return;
    if constexpr (Described<Record> && !Shared<Record>) {
      append("", field.column);
      const std::string_view own = kTable<Record>.empty() ? table_ : kTable<Record>;
      const std::string_view table = std::exchange(table_, own);
      Record record;
      fields(*this, record);
      table_ = table;
    } else if constexpr (std::same_as<Member, Config>) {
      append("config", "text");
    } else {
      for_each_column(field.column, [this](std::string_view name) { append(table_, name); });
    }
  }
  bool has(const char*, bool) const { return true; }
  const std::string& text() const { return text_; }

 private:
  void append(std::string_view table, std::string_view name) {
    if (name.empty()) return;
    if (!text_.empty()) text_ += ", ";
    text_.append(table).append(table.empty() ? "" : ".").append(name);
  }

  std::string_view table_;
  std::string text_;
};

template <class Record>
const std::string& column_list() {
  static const std::string text = [] {
    ColumnNames columns(kTable<Record>);
    Record record;
    fields(columns, record);
    return columns.text();
  }();
  return text;
}

/// Reads the columns that ColumnNames names. Throws DamagedRow where a text or a reference is none.
class RowFields {
 public:
  /// `dimensions` may be null for a record that refers to no others.
  RowFields(Query& row, const Dimensions* dimensions) : row_(row), dimensions_(dimensions) {}

  template <class... Members>
  void operator()(const Field& field, Members&... members) {
    if (field.column) (read(field, members), ...);
  }
  bool has(const char*, bool) const { return true; }

 private:
  template <class T>
  void read(const Field& field, T& into) {
    using Record = typename Held<T>::Type;
    if constexpr (std::same_as<T, std::string>) {
      into = row_.text();
    } else if constexpr (std::same_as<T, bool>) {
      into = row_.flag();
    } else if constexpr (std::integral<T>) {
      into = static_cast<T>(row_.integer());
    } else if constexpr (std::same_as<T, double>) {
      into = field.is(kIfKnown) ? row_.real_or_zero() : row_.real();
    } else if constexpr (std::same_as<T, std::vector<double>>) {
      into = row_.reals();
    } else if constexpr (Word<T>) {
      into = Words<T>::parse(row_.view()).value_or(Words<T>::otherwise);
    } else if constexpr (std::same_as<T, std::vector<std::string>>) {
      std::istringstream names(row_.text());
      for (std::string name; std::getline(names, name, ',');) into.push_back(name);
    } else if constexpr (std::same_as<T, Config>) {
      into = stored_config(row_.text());
    } else if constexpr (std::same_as<T, Problem>) {
      into = field.is(kFigures) ? stored_problem(row_.text())
                                : dimensions_->problems.at(row_.integer());
    } else if constexpr (Shared<T>) {
      into = dimensions_->of<T>().at(row_.integer());
    } else if constexpr (Described<Record>) {
      const bool is_there = !row_.is_null();
      if (*field.column != '\0') row_.skip();
      if constexpr (std::same_as<T, Record>) {
        fields(*this, into);
      } else {
        Record record;
        fields(*this, record);
        if (is_there) into = std::move(record);
      }
    }
  }

  Query& row_;
  const Dimensions* dimensions_;
};

template <class Record>
Record read_record(Query& row, const Dimensions* dimensions = nullptr) {
  Record record;
  RowFields reader(row, dimensions);
  fields(reader, record);
  return record;
}

/// Makes the cells of a row. Texts and arrays stay those of the records.
class Cells {
 public:
  /// Leaves out what a record refers to.
  Cells() = default;
  /// Adds that to the tables that have it.
  explicit Cells(Database& database) : database_(&database) {}

  template <Described Record>
  Cells& add(const Record& record) {
    fields(*this, record);
    return *this;
  }
  /// Instead of what the record says.
  Cells& set(const Cell& cell) {
    std::erase_if(cells_, [&](const Cell& other) { return other.column == cell.column; });
    cells_.push_back(cell);
    return *this;
  }
  operator std::span<const Cell>() const { return cells_; }  // NOLINT(google-explicit-constructor)

  template <class... Members>
  void operator()(const Field& field, const Members&... members) {
    if (!field.column) return;
    if constexpr (sizeof...(Members) == 1) {
      (put(field, members), ...);
    } else {
      const std::array<double, sizeof...(Members)> numbers{members...};
      std::size_t next = 0;
      for_each_column(field.column,
                      [&](std::string_view name) { number(field, name, numbers[next++]); });
    }
  }
  bool has(const char*, bool) const { return true; }

 private:
  void number(const Field& field, std::string_view name, double value) {
    const bool is_null = is_null_ || (field.is(kIfKnown) && value == 0);
    cells_.push_back({name, is_null ? SqlValue(nullptr) : SqlValue(value)});
  }

  template <class T>
  void put(const Field& field, const T& value) {
    using Record = typename Held<T>::Type;
    if constexpr (std::same_as<T, double>) {
      number(field, field.column, value);
    } else if constexpr (std::same_as<T, std::uint64_t>) {
      put(field, static_cast<std::int64_t>(value));
    } else if constexpr (Word<T>) {
      cells_.push_back({field.column, to_text(value)});
    } else if constexpr (std::same_as<T, std::vector<std::string>>) {
      kept(field, fmt::format("{}", fmt::join(value, ",")));  // names have no commas
    } else if constexpr (std::same_as<T, Problem>) {
      if (field.is(kFigures)) {
        kept(field, to_text(value));
      } else if (database_) {
        cells_.push_back({field.column, id_of(*database_, value, IfNew::add)});
      }
    } else if constexpr (Shared<T>) {
      if (database_) cells_.push_back({field.column, id_of(*database_, value, IfNew::add)});
    } else if constexpr (std::same_as<T, Timing>) {
      if (database_) cells_.push_back({field.column, put_timing(*database_, value)});
    } else if constexpr (Described<Record>) {
      if constexpr (std::same_as<T, Record>) {
        fields(*this, value);
      } else if (kTable<Record>.empty()) {
        is_null_ = !value;
        fields(*this, value ? *value : Record());
        is_null_ = false;
      }
    } else if constexpr (!std::same_as<T, Config> && std::constructible_from<SqlValue, T>) {
      cells_.push_back({field.column, is_null_ ? SqlValue(nullptr) : SqlValue(value)});
    }
  }
  void kept(const Field& field, std::string text) {
    cells_.push_back({field.column, texts_.emplace_back(std::move(text))});
  }

  Database* database_ = nullptr;
  std::vector<Cell> cells_;
  std::deque<std::string> texts_;
  bool is_null_ = false;
};

}  // namespace assay
