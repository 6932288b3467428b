#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/terminal.h"
#include "base/utf8.h"

namespace assay {
namespace {

constexpr std::string_view kGap = "  ";

/// Columns that UTF-8 text takes on a terminal, counting every code point as one.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

/// Four significant digits below 1000, whole numbers above.
std::string digits(double value) {
  const double size = std::abs(value);
  return fmt::format("{:.{}f}", value,
                     size < 9.9995   ? 3
                     : size < 99.995 ? 2
                     : size < 999.95 ? 1
                                     : 0);
}

}  // namespace

Table::Table(std::vector<std::string> headers) : headers_(std::move(headers)) {
  right_.reserve(headers_.size());
  for (std::string& header : headers_) {
    right_.push_back(header.starts_with('>'));
    if (right_.back()) header.erase(0, 1);
  }
}

void Table::add_row(std::vector<std::string> cells) {
  cells.resize(headers_.size());
  // A line end in a name would forge a row.
  for (std::string& cell : cells) cell = printable_line(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const std::string& header : headers_) widths.push_back(width(header));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - width(cells[i]), ' ');
      if (i > 0) line += kGap;
      line += right_[i] ? padding + cells[i] : cells[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  add_line(headers_);
  std::size_t total = kGap.size() * (widths.empty() ? 0 : widths.size() - 1);
  for (std::size_t w : widths) total += w;
  out += std::string(total, '-') + '\n';
  for (const auto& row : rows_) add_line(row);
  return out;
}

std::string format_time(double ns) {
  if (!std::isfinite(ns)) return "-";
  const double size = std::abs(ns);
  // The limits lie where rounding would print 1000 of the smaller unit.
  if (size < 999.95) return fmt::format("{:.{}f} ns", ns, size < 99.95 ? 2 : 1);
  if (size < 999.95e3) return digits(ns / 1e3) + " us";
  if (size < 999.95e6) return digits(ns / 1e6) + " ms";
  return digits(ns / 1e9) + " s";
}

std::string format_energy(double joules) {
  if (!std::isfinite(joules)) return "-";
  const bool small = std::abs(joules) < 0.9995;
  const double value = small ? joules * 1e3 : joules;
  const double size = std::abs(value);
  return fmt::format("{:.{}f} {}", value,
                     size < 0.9995  ? 3
                     : size < 9.995 ? 2
                     : size < 99.95 ? 1
                                    : 0,
                     small ? "mJ" : "J");
}

std::string format_percent(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:.0f} %", ratio * 100) : "-";
}

std::string format_rate(double per_second, const std::string& unit) {
  if (!std::isfinite(per_second)) return "-";
  static constexpr std::array<std::string_view, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};
  double value = per_second;
  std::size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < kPrefixes.size()) {
    value /= 1e3;
    ++prefix;
  }
  const double size = std::abs(value);
  return fmt::format("{:.{}f} {}{}", value,
                     size < 9.995   ? 2
                     : size < 99.95 ? 1
                                    : 0,
                     kPrefixes[prefix], unit);
}

std::string format_bytes(double bytes) {
  static constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = bytes;
  std::size_t unit = 0;
  while (std::abs(value) >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, kUnits[unit]);
}

}  // namespace assay
