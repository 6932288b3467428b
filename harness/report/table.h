#pragma once

#include <string>
#include <vector>

namespace assay {

/// A text table: left-aligned words, right-aligned numbers, two spaces between columns, a rule
/// under the header.
class Table {
 public:
  /// A header starting with '>' right-aligns its column (the mark is not printed).
  explicit Table(std::vector<std::string> headers);
  /// Control characters, line ends included, become '?'.
  void add_row(std::vector<std::string> cells);
  std::string text() const;

 private:
  std::vector<std::string> headers_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

/// 1234.6 ns -> "1.235 us"; three to four significant digits, the unit chosen by size.
std::string format_time(double ns);
/// 0.00312 J -> "3.12 mJ"; three significant digits, in mJ or J.
std::string format_energy(double joules);
/// 0.814 -> "81 %"
std::string format_percent(double ratio);
/// 1.1e12 -> "1.10 TFLOP/s", 3.3e9 -> "3.30 GB/s".
std::string format_rate(double per_second, const std::string& unit);
/// 65536 -> "64.0 KiB"
std::string format_bytes(double bytes);

}  // namespace assay
