// What people and their scripts read: whole tables, with all that is known of a winner. And a
// picture of the speed-ups, a row for each problem: a dot at the speed-up over the baseline, a
// bar through it as long as its 95 % interval, and a line at 1, where the baseline is. The scale is
// one of factors, so that half as fast is as far from 1 as twice as fast.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/terminal.h"
#include "report/config_text.h"
#include "report/entry_json.h"
#include "report/export.h"
#include "report/table.h"

namespace assay {
namespace {

std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

/// A figure that is 0 where it is not known.
std::string known(double value) { return value > 0 ? number(value) : ""; }

/// RFC 4180: a field with a comma or a quote stands in quotes, quotes doubled. A spreadsheet
/// computes what begins with one of `=+-@`; an apostrophe makes it text there. None of our numbers
/// is negative.
std::string field(const std::string& content) {
  std::string text = printable_line(content);
  if (!text.empty() && std::string_view("=+-@").find(text[0]) != std::string_view::npos) {
    text.insert(0, 1, '\'');
  }
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) {
    out += c;
    if (c == '"') out += c;
  }
  return out + '"';
}

/// The fields of a record, each behind the name of its column.
std::vector<std::pair<const char*, std::string>> fields_of(const TunedTable& table,
                                                           const TunedRow& row) {
  const bool is_compared = !row.baseline.empty(), is_bounded = is_compared && row.speedup.high > 0;
  return {{"op", table.op},
          {"device", table.device.name},
          {"protocol", table.protocol},
          {"problem", to_text(row.problem)},
          {"kernel", row.best.kernel},
          {"config", to_text(row.best.config)},
          {"time_ns", number(row.time_ns.value)},
          {"time_low_ns", number(row.time_ns.low)},
          {"time_high_ns", number(row.time_ns.high)},
          {"baseline", row.baseline},
          {"baseline_ns", is_compared ? number(row.baseline_ns) : ""},
          {"speedup", is_compared ? number(row.speedup.value) : ""},
          {"speedup_low", is_bounded ? number(row.speedup.low) : ""},
          {"speedup_high", is_bounded ? number(row.speedup.high) : ""},
          {"ties", std::to_string(row.ties.size())},
          {"runner_up_ratio", known(row.runner_up_ratio)},
          {"rounds", std::to_string(row.rounds)},
          {"arch", row.toolchain.arch},
          {"nvrtc", row.toolchain.nvrtc},
          {"driver", row.toolchain.driver},
          {"source_hash", row.version.source_hash},
          {"provenance", row.provenance},
          {"measured_at", row.finished_at},
          {"objective", std::string(to_text(table.objective))},
          {"roofline_ratio", known(row.roofline_ratio())},
          {"energy_j", known(row.energy_j)},
          {"cycles_speedup", known(row.cycles_speedup.value)},
          {"cycles_speedup_low", known(row.cycles_speedup.low)},
          {"cycles_speedup_high", known(row.cycles_speedup.high)},
          {"prepare_ns", row.prepared ? number(row.prepared->time_ns) : ""},
          {"prepared_bytes", row.prepared ? std::to_string(row.prepared->bytes) : ""},
          {"contract_hash", row.version.contract_hash},
          {"cubin_hash", row.cubin_hash},
          {"cublas", row.cublas},
          {"verified", !row.verification             ? ""
                       : row.verification->failure() ? "failed"
                                                     : "passed"},
          {"memory_bytes", row.memory_bytes > 0 ? std::to_string(row.memory_bytes) : ""},
          {"baseline_memory_bytes",
           row.baseline_memory_bytes > 0 ? std::to_string(row.baseline_memory_bytes) : ""}};
}

constexpr double kWidth = 860;
constexpr double kRowHeight = 22;
constexpr double kLeft = 210;  // of the scale; the problems' names are left of it
constexpr double kRight = 600;
constexpr double kTextSize = 13;

// Where the reader prefers it, the picture is light on dark.
constexpr std::string_view kStyle = R"(<style>
  text { font: 13px system-ui, sans-serif; fill: #16191d; }
  .heading { font-weight: bold; }
  .quiet { fill: #565d66; }
  .back { fill: #ffffff; }
  .grid { stroke: #ccd1d8; }
  .one { stroke: #16191d; stroke-dasharray: 4 3; }
  .mark { stroke: #0062a8; fill: #0062a8; }
  @media (prefers-color-scheme: dark) {
    text { fill: #eceff3; }
    .quiet { fill: #a7b0bb; }
    .back { fill: #14171c; }
    .grid { stroke: #3d4550; }
    .one { stroke: #eceff3; }
    .mark { stroke: #6cb6ff; fill: #6cb6ff; }
  }
</style>
)";

/// The speed-ups that one table's picture spans.
class Scale {
 public:
  explicit Scale(const TunedTable& table) {
    for (const TunedRow& row : table.entries) {
      if (row.baseline.empty()) continue;
      low_ = std::min(low_, row.speedup.value);
      high_ = std::max(high_, row.speedup.value);
    }
    low_ /= 1.02;
    high_ *= 1.02;
  }
  bool spans(double speedup) const { return low_ <= speedup && speedup <= high_; }
  double x(double speedup) const {
    const double share = std::log(std::clamp(speedup, low_, high_) / low_) / std::log(high_ / low_);
    return kLeft + share * (kRight - kLeft);
  }

 private:
  double low_ = 0.95;  // so that noise does not fill the picture
  double high_ = 1.05;
};

std::string text_at(double x, double y, std::string_view classes, std::string_view anchor,
                    const std::string& text) {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" class="{}" text-anchor="{}">{}</text>)"
                     "\n",
                     x, y, classes, anchor, xml_text(text));
}

std::string grid_of(const Scale& scale, double top, double bottom) {
  std::string text;
  double last_x = 0;  // of the last number, which the next one must not touch
  for (const double tick : {0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0}) {
    if (!scale.spans(tick)) continue;
    const double x = scale.x(tick);
    text += fmt::format(R"(<line x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}" class="{3}"/>)"
                        "\n",
                        x, top, bottom, tick == 1 ? "one" : "grid");
    if (x - last_x < 40 && tick != 1) continue;
    text += text_at(x, bottom + kTextSize + 4, "quiet", "middle", fmt::format("{:g}", tick));
    last_x = x;
  }
  return text;
}

std::string row_of(const TunedRow& row, const Scale& scale, double y) {
  const double base = y + kTextSize / 3;
  std::string text = text_at(kLeft - 12, base, "", "end", to_text(row.problem));
  std::string said = format_time(row.time_ns.value);
  if (row.baseline.empty()) {
    said += ", no baseline";
  } else {
    const double x = scale.x(row.speedup.value);
    if (row.speedup.high > 0 && std::isfinite(row.speedup.high)) {
      text += fmt::format(
          R"(<line x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}" class="mark" stroke-width="3"/>)"
          "\n",
          scale.x(row.speedup.low), scale.x(row.speedup.high), y, y);
    }
    text += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.5" class="mark"/>)"
                        "\n",
                        x, y);
    said = fmt::format("{:.2f}x {}, {}", row.speedup.value, row.baseline, said);
  }
  return text + text_at(kRight + 14, base, "", "start", said);
}

}  // namespace

std::string export_csv(const std::vector<TunedTable>& tables) {
  std::string text;
  for (const auto& [name, value] : fields_of({}, {}))
    text += (text.empty() ? "" : ",") + std::string(name);
  text += "\r\n";
  for (const TunedTable& table : tables) {
    for (const TunedRow& row : table.entries) {
      std::string record;
      for (const auto& [name, value] : fields_of(table, row)) record += ',' + field(value);
      text += record.substr(1) + "\r\n";
    }
  }
  return text;
}

std::string export_json(const std::vector<TunedTable>& tables) {
  Json list = Json::array();
  for (const TunedTable& table : tables) {
    list.push_back({{"op", table.op},
                    {"device", device_json(table.device)},
                    {"protocol", table.protocol},
                    {"objective", to_text(table.objective)},
                    {"fallback", table.fallback},
                    {"entries", json_list(table.entries, entry_json)}});
  }
  return document("tuned-table", {{"tables", std::move(list)}});
}

std::string export_markdown(const std::vector<TunedTable>& tables) {
  std::string text;
  for (const TunedTable& table : tables) {
    text += fmt::format("{}### {} on {}, {}\n\n", text.empty() ? "" : "\n", markdown_cell(table.op),
                        markdown_cell(table.device.name), markdown_cell(conditions_text(table)));
    text +=
        "| problem | kernel | configuration | time | baseline | its time | speed-up [95 %] | "
        "roofline | ties | verified | measured |\n"
        "|---|---|---|---:|---|---:|---:|---:|---:|---|---|\n";
    for (const TunedRow& entry : table.entries) {
      const bool compared = !entry.baseline.empty();
      text += fmt::format(
          "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
          markdown_cell(to_text(entry.problem)), markdown_cell(entry.best.kernel),
          markdown_cell(to_text(entry.best.config)), format_time(entry.time_ns.value),
          compared ? markdown_cell(entry.baseline) : "-",
          compared ? format_time(entry.baseline_ns) : "-",
          compared ? format_ratio(entry.speedup) : "-",
          entry.roofline_ns > 0 ? format_percent(entry.roofline_ratio()) : "-", entry.ties.size(),
          !entry.verification             ? "no"
          : entry.verification->failure() ? "failed"
                                          : "yes",
          markdown_cell(measured_text(entry.provenance, entry.finished_at)));
    }
  }
  return text;
}

std::string export_svg(const std::vector<TunedTable>& tables) {
  std::string body;
  double y = 8;
  for (const TunedTable& table : tables) {
    y += kRowHeight;
    body += text_at(12, y, "heading", "start",
                    fmt::format("{} on {}, {}: speed-up over the baseline", table.op,
                                table.device.name, conditions_text(table)));
    const double top = y + 10;
    const double bottom = top + kRowHeight * static_cast<double>(table.entries.size());
    const Scale scale(table);
    body += grid_of(scale, top, bottom);
    y = top + kRowHeight / 2;
    for (const TunedRow& row : table.entries) {
      body += row_of(row, scale, y);
      y += kRowHeight;
    }
    y = bottom + 2 * kTextSize;
  }
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" role="img" aria-label="Speed-ups over the baseline">)"
      "\n{2}<rect class=\"back\" width=\"100%\" height=\"100%\" rx=\"8\"/>\n{3}</svg>\n",
      kWidth, y, kStyle, body);
}

}  // namespace assay
