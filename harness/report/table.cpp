#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace assay {
namespace {

constexpr std::string_view kGap = "  ";

constexpr std::size_t kIndent = 2;          // of a row's further lines
constexpr std::size_t kFewestColumns = 20;  // that text is broken to

/// What columns of these widths take beside each other.
std::size_t total_width(const std::vector<std::size_t>& columns,
                        const std::vector<std::size_t>& widths) {
  std::size_t total = columns.empty() ? 0 : kGap.size() * (columns.size() - 1);
  for (const std::size_t column : columns) total += widths[column];
  return total;
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

void Table::add_row(std::vector<std::string> cells, Style style) {
  cells.resize(headers_.size());
  // A line end in a name would forge a row.
  for (std::string& cell : cells) cell = printable_line(cell);
  rows_.push_back({std::move(cells), style});
}

bool Table::is_constant(std::size_t column) const {
  // Of two columns one names the rows.
  return rows_.size() > 1 && headers_.size() > 2 &&
         std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) {
           return row.cells[column] == rows_.front().cells[column];
         });
}

/// Which columns stand in which line of a row, and how wide they are then.
std::vector<Table::Columns> Table::lines_of(Columns columns, std::size_t limit,
                                            std::vector<std::size_t>& widths) const {
  Columns first = std::move(columns), further;
  const std::size_t indented = limit - kIndent;
  while (total_width(first, widths) > limit && first.size() > 1) {
    const auto widest =
        std::max_element(first.begin() + 1, first.end(),
                         [&](std::size_t a, std::size_t b) { return widths[a] < widths[b]; });
    const std::size_t beside = total_width(first, widths) - widths[*widest];
    // A long last column has to be broken anyway: beside the others, where there is room.
    if (widest + 1 == first.end() && widths[*widest] > indented &&
        beside + kFewestColumns <= limit) {
      widths[*widest] = limit - beside;
      break;
    }
    further.push_back(*widest);
    first.erase(widest);
  }
  widths[first.front()] = std::min(widths[first.front()], limit);
  std::vector<Columns> lines{std::move(first)};
  std::sort(further.begin(), further.end());
  for (const std::size_t column : further) {
    widths[column] = std::min(widths[column], indented);
    Columns longer = lines.back();
    longer.push_back(column);
    if (lines.size() == 1 || total_width(longer, widths) > indented) {
      lines.push_back({column});
    } else {
      lines.back() = std::move(longer);
    }
  }
  return lines;
}

std::string Table::row_text(const Row& row, const std::vector<Columns>& lines,
                            const std::vector<std::size_t>& widths) const {
  std::string out;
  for (const Columns& columns : lines) {
    std::vector<std::vector<std::string>> parts;
    std::size_t height = 0;
    for (const std::size_t column : columns) {
      parts.push_back(folded(row.cells[column], widths[column]));
      height = std::max(height, parts.back().size());
    }
    for (std::size_t i = 0; i < height; ++i) {
      std::string line(&columns == &lines.front() ? 0 : kIndent, ' ');
      for (std::size_t k = 0; k < columns.size(); ++k) {
        const std::string part = i < parts[k].size() ? parts[k][i] : "";
        const std::string padding(widths[columns[k]] - width_of(part), ' ');
        if (k > 0) line += kGap;
        line += right_[columns[k]] ? padding + part : part + padding;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      if (!line.empty() || lines.size() == 1) out += styled(line, row.style) + '\n';
    }
  }
  return out;
}

std::string Table::text(const Terminal& terminal) const {
  std::vector<std::size_t> widths;
  for (const std::string& header : headers_) widths.push_back(width_of(header));
  for (const Row& row : rows_) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row.cells[i]));
    }
  }
  const bool is_limited = terminal.columns > 0;
  Columns shown;
  std::string constant;
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    if (is_limited && is_constant(i) && !(shown.empty() && i + 1 == headers_.size())) {
      const std::string& cell = rows_.front().cells[i];
      if (cell.empty()) continue;
      constant += (constant.empty() ? "" : "; ") + headers_[i] + ": " + cell;
    } else {
      shown.push_back(i);
    }
  }
  const std::size_t limit = is_limited ? std::max(terminal.columns, kFewestColumns) : SIZE_MAX;
  const std::vector<Columns> lines = lines_of(std::move(shown), limit, widths);
  std::size_t rule = total_width(lines.front(), widths);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    rule = std::max(rule, kIndent + total_width(lines[i], widths));
  }
  std::string out = constant.empty() ? "" : folded_text(constant, terminal) + '\n';
  const Style heading = terminal.has_color ? Style::heading : Style::plain;
  out += row_text({headers_, heading}, lines, widths) + std::string(rule, '-') + '\n';
  for (const Row& row : rows_) {
    out += row_text({row.cells, terminal.has_color ? row.style : Style::plain}, lines, widths);
  }
  return out;
}

std::string format_count(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string format_ratio(const Interval& ratio) {
  if (ratio.high <= 0 || !std::isfinite(ratio.high)) return fmt::format("{:.2f}x", ratio.value);
  constexpr double kNear = 0.1;
  const bool is_near = std::abs(ratio.value - 1) < kNear;
  const double width = std::max(ratio.high - ratio.low, 1e-4);
  const int digits =
      is_near ? std::clamp(static_cast<int>(std::ceil(-std::log10(width))), 2, 4) : 2;
  return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", ratio.value, digits, ratio.low, digits,
                     ratio.high, digits);
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
