// A picture of the speed-ups, a row for each problem: a dot at the speed-up over the baseline, a
// bar through it as long as its 95 % interval, and a line at 1, where the baseline is. The scale is
// one of factors, so that half as fast is as far from 1 as twice as fast.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "report/export.h"
#include "report/table.h"

namespace assay {
namespace {

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

std::string vertical_line(double x, double top, double bottom, std::string_view classes) {
  return fmt::format(R"(<line x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}" class="{3}"/>)"
                     "\n",
                     x, top, bottom, classes);
}

std::string grid_of(const Scale& scale, double top, double bottom) {
  std::string text;
  double last_x = 0;  // of the last number, which the next one must not touch
  for (const double tick : {0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0}) {
    if (!scale.spans(tick)) continue;
    const double x = scale.x(tick);
    text += vertical_line(x, top, bottom, tick == 1 ? "one" : "grid");
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
