#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/stats.h"
#include "base/terminal.h"

namespace assay {

/// A text table: left-aligned words, right-aligned numbers, two spaces between columns, a rule
/// under the header.
class Table {
 public:
  /// A header starting with '>' right-aligns its column, and one starting with '?' leaves the
  /// column out where no cell says anything: all are "-" or empty. Both marks, "?>", are not
  /// printed.
  explicit Table(std::vector<std::string> headers);
  /// Control characters, line ends included, become '?'.
  void add_row(std::vector<std::string> cells, Style style = Style::plain);

  bool empty() const { return rows_.empty(); }

  /// Without a limit each row is one line. No line is longer than a terminal's: there, a column
  /// that says the same in all rows is said once above, the widest columns get a line of their own
  /// below the others of their row, and what is longer than a line is broken.
  std::string text(const Terminal& terminal = {}) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Style style;
  };
  using Columns = std::vector<std::size_t>;  // by their number

  bool is_constant(std::size_t column) const;
  bool is_left_out(std::size_t column) const;
  std::vector<Columns> lines_of(Columns columns, std::size_t limit,
                                std::vector<std::size_t>& widths) const;
  std::string row_text(const Row& row, const std::vector<Columns>& lines,
                       const std::vector<std::size_t>& widths) const;

  std::vector<std::string> headers_;
  std::vector<bool> right_, optional_;
  std::vector<Row> rows_;
};

/// 1234567 -> "1,234,567"
std::string format_count(std::uint64_t count);
/// "1.85 [1.84, 1.86]"; near 1 with the digits that the interval has: "1.008 [1.007, 1.009]". Of a
/// ratio that has no interval "1.85x".
std::string format_ratio(const Interval& ratio);

/// 1234.6 ns -> "1.235 us"; three to four significant digits, the unit chosen by size.
std::string format_time(double ns);
/// "1.235 us [1.230 us, 1.240 us]"
std::string format_interval(const Interval& time_ns);
/// 0.00312 J -> "3.12 mJ"; three significant digits, in mJ or J.
std::string format_energy(double joules);
/// 0.814 -> "81 %"
std::string format_percent(double ratio);
/// 1.1e12 -> "1.10 TFLOP/s", 3.3e9 -> "3.30 GB/s".
std::string format_rate(double per_second, const std::string& unit);
/// 65536 -> "64.0 KiB"
std::string format_bytes(double bytes);
template <std::integral Count>
std::string format_bytes(Count bytes) {
  return format_bytes(static_cast<double>(bytes));
}

/// The samples as bars, one line a bin, in at most `bins` lines. Samples beyond the 99th percentile
/// share the last line. Otherwise one outlier would squeeze all others into the first.
/// Samples that are no finite numbers are counted in a note and left out.
std::string histogram(const std::vector<double>& samples_ns, std::size_t bins,
                      const Terminal& terminal = {});

/// A text in a heading, a paragraph or a cell of a Markdown table: on one line, and without what
/// Markdown would obey. Links and images begin with a bracket.
std::string markdown_cell(const std::string& text);

/// A text in an attribute or between tags of XML, on one line.
std::string xml_text(const std::string& text);

}  // namespace assay
