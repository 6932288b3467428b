#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
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

/// So many significant digits, of which at most `most` are decimals.
std::string digits(double value, int significant, int most) {
  const auto is_too_long = [&](int decimals) {
    const double unit = std::pow(10, decimals);
    return std::round(std::abs(value) * unit) / unit >= std::pow(10, significant - decimals);
  };
  while (most > 0 && is_too_long(most)) --most;
  return fmt::format("{:.{}f}", value, most);
}

constexpr std::size_t kBarColumns = 50;
constexpr std::size_t kBesideBars = 24;  // "  1.234 us     1234  "

}  // namespace

Table::Table(std::vector<std::string> headers) : headers_(std::move(headers)) {
  for (std::string& header : headers_) {
    for (auto [mark, marked] : {std::pair('?', &optional_), {'>', &right_}}) {
      marked->push_back(header.starts_with(mark));
      if (marked->back()) header.erase(0, 1);
    }
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
  return rows_.size() > 1 && headers_.size() > 2 && std::ranges::all_of(rows_, [&](const Row& row) {
           return row.cells[column] == rows_.front().cells[column];
         });
}

bool Table::is_left_out(std::size_t column) const {
  return optional_[column] && std::ranges::all_of(rows_, [&](const Row& row) {
           return row.cells[column].empty() || row.cells[column] == "-";
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
  std::ranges::sort(further);
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
    if (is_left_out(i)) continue;
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
  if (size < 999.95e3) return digits(ns / 1e3, 4, 3) + " us";
  if (size < 999.95e6) return digits(ns / 1e6, 4, 3) + " ms";
  return digits(ns / 1e9, 4, 3) + " s";
}

std::string format_interval(const Interval& time_ns) {
  return fmt::format("{} [{}, {}]", format_time(time_ns.value), format_time(time_ns.low),
                     format_time(time_ns.high));
}

std::string format_energy(double joules) {
  if (!std::isfinite(joules)) return "-";
  const bool small = std::abs(joules) < 0.9995;
  return digits(small ? joules * 1e3 : joules, 3, 3) + (small ? " mJ" : " J");
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
  return fmt::format("{} {}{}", digits(value, 3, 2), kPrefixes[prefix], unit);
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

std::string histogram(const std::vector<double>& samples_ns, std::size_t bins,
                      const Terminal& terminal) {
  // NaN has no place in an order or a bin; a recording or a database may hold any number.
  std::vector<double> sorted;
  std::ranges::copy_if(samples_ns, std::back_inserter(sorted),
                       [](double sample) { return std::isfinite(sample); });
  const std::size_t num_left_out = samples_ns.size() - sorted.size();
  const std::string note = num_left_out > 0 ? fmt::format("{} of {} samples are no numbers\n",
                                                          num_left_out, samples_ns.size())
                                            : "";
  if (sorted.empty() || bins == 0) return note;
  std::ranges::sort(sorted);
  const double low = sorted.front();
  const double high = sorted[(sorted.size() - 1) * 99 / 100];
  if (high <= low) bins = 1;
  std::vector<std::size_t> counts(bins, 0);
  for (double sample : sorted) {
    const double at = high > low ? (sample - low) / (high - low) * static_cast<double>(bins) : 0;
    ++counts[at < static_cast<double>(bins) ? static_cast<std::size_t>(at) : bins - 1];
  }
  const std::size_t most = *std::ranges::max_element(counts);
  const std::size_t bar_columns =
      terminal.columns == 0
          ? kBarColumns
          : std::clamp<std::size_t>(terminal.columns, kBesideBars + 10, kBesideBars + kBarColumns) -
                kBesideBars;
  Table table({">from", ">samples", ""});
  for (std::size_t i = 0; i < bins; ++i) {
    const double from = low + (high - low) * static_cast<double>(i) / static_cast<double>(bins);
    // A bin that is not empty shows at least one mark.
    table.add_row({format_time(from), std::to_string(counts[i]),
                   std::string((counts[i] * bar_columns + most - 1) / most, '#')});
  }
  std::string text = table.text(Terminal{});
  if (sorted.back() > high) {
    text +=
        fmt::format("the last line holds the slowest too, up to {}\n", format_time(sorted.back()));
  }
  return text + note;
}

std::string markdown_cell(const std::string& text) {
  constexpr std::string_view kObeyed = "|<`*_\\[]!#";
  std::string escaped;
  for (const char c : printable_line(text)) {
    if (kObeyed.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string xml_text(const std::string& text) {
  constexpr std::string_view kEntities[] = {"&&amp;", "<&lt;", ">&gt;", "\"&quot;"};
  std::string escaped;
  for (const char c : printable_line(text)) {
    const auto* const entity =
        std::ranges::find_if(kEntities, [&](std::string_view each) { return each.front() == c; });
    if (entity == std::end(kEntities)) {
      escaped += c;
    } else {
      escaped += entity->substr(1);
    }
  }
  return escaped;
}

}  // namespace assay
