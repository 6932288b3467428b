#include "report/explain_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/counters.h"
#include "base/terminal.h"
#include "report/entry_json.h"
#include "report/table.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

/// `text` behind `begin` in lines that a terminal has room for; the others begin with as many
/// blanks.
std::string wrapped(const std::string& begin, std::string_view text, const Terminal& terminal) {
  constexpr std::size_t kLeastRoom = 20;
  if (terminal.columns == 0) return fmt::format("{}{}\n", begin, text);
  if (terminal.columns < begin.size() + kLeastRoom) {  // `begin` gets a line of its own
    return folded_text(begin.substr(0, begin.find_last_not_of(' ') + 1), terminal) +
           wrapped("    ", text, {std::max(terminal.columns, 4 + kLeastRoom)});
  }
  const std::size_t room = terminal.columns - begin.size();
  std::string out;
  for (const std::string& line : folded(text, room)) {
    out += (out.empty() ? begin : std::string(begin.size(), ' ')) + line + "\n";
  }
  return out;
}

using Items = std::vector<std::pair<std::string, std::string>>;

void add_section(std::string& text, std::string_view head, const Items& items,
                 const Terminal& terminal) {
  if (items.empty()) return;
  std::size_t width = 0;
  for (const auto& [name, value] : items) width = std::max(width, name.size());
  if (!text.empty()) text += "\n";
  if (!head.empty()) text += fmt::format("{}\n", head);
  for (const auto& [name, value] : items) {
    text += wrapped(fmt::format("  {:<{}}", name, width + 2), value, terminal);
  }
}

Items items_of(const std::vector<Cause>& causes) {
  Items items;
  for (const Cause& cause : causes) {
    std::string text = cause.text;
    if (cause.kind != CauseKind::hint && cause.share > 0) {
      text = fmt::format("{}: {}", format_percent(cause.share), text);
    }
    items.emplace_back(cause.name, text);
  }
  return items;
}

Json causes_json(const std::vector<Cause>& causes) {
  Json json = Json::array();
  for (const Cause& cause : causes) {
    json.push_back({{"name", cause.name},
                    {"kind", to_text(cause.kind)},
                    {"share", cause.kind == CauseKind::hint ? Json(nullptr) : Json(cause.share)},
                    {"text", cause.text}});
  }
  return json;
}

Json figures_json(const Figures& figures) {
  Json counters = Json::object(), findings = Json::array();
  for (const Measurement& each : figures.counters) counters[each.name] = each.value;
  for (const CodeFinding& finding : figures.findings.value_or(std::vector<CodeFinding>())) {
    findings.push_back({{"name", finding.name}, {"text", finding.text}});
  }
  return {{"time_ns", known_or_null(figures.time_ns.value)},
          {"time_low_ns", known_or_null(figures.time_ns.low)},
          {"time_high_ns", known_or_null(figures.time_ns.high)},
          {"clock_mhz", known_or_null(figures.clock_mhz)},
          {"bytes", known_or_null(figures.bytes)},
          {"flops", known_or_null(figures.flops)},
          {"memory_ns", known_or_null(figures.memory_ns)},
          {"operations_ns", known_or_null(figures.operations_ns)},
          {"roofline_ns", known_or_null(figures.roofline_ns)},
          {"launches_ns", known_or_null(figures.launches_ns)},
          {"sm_count", figures.sm_count > 0 ? Json(figures.sm_count) : Json(nullptr)},
          {"registers", figures.report ? Json(figures.report->registers) : Json(nullptr)},
          {"spill_bytes", figures.report ? Json(figures.report->spill_bytes) : Json(nullptr)},
          {"launches", launches_json(figures.launches)},
          {"counters", counters},
          {"findings", figures.findings ? findings : Json(nullptr)}};
}

/// The values of the figures of one name, in one cell.
std::string joined(const Items& rows, const std::string& name) {
  std::vector<std::string_view> values;
  for (const auto& [of, value] : rows) {
    if (of == name) values.push_back(value);
  }
  return values.empty() ? "-" : fmt::format("{}", fmt::join(values, "; "));
}

bool is_counter(const std::string& name) {
  return std::any_of(counters().begin(), counters().end(),
                     [&](const CounterRow& row) { return row.name == name; });
}

/// Name, before, after of the figures that differ. What was not counted of one is no difference.
std::vector<std::array<std::string, 3>> differing_rows(const Figures& before,
                                                       const Figures& after) {
  const Items a = figure_rows(before), b = figure_rows(after);
  std::vector<std::string> names;
  for (const Items* rows : {&a, &b}) {
    for (const auto& [name, value] : *rows) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::vector<std::array<std::string, 3>> rows;
  for (const std::string& name : names) {
    std::array<std::string, 3> row{name, joined(a, name), joined(b, name)};
    const bool is_uncounted = is_counter(name) && (row[1] == "-" || row[2] == "-");
    if (row[1] != row[2] && !is_uncounted) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::string explain_text(const Figures& figures, const Explanation& explanation,
                         const Terminal& terminal) {
  std::string text = wrapped("", figures.title, terminal);
  if (!figures.config.empty()) {
    std::vector<std::string> parameters;
    for (const auto& [name, value] : figures.config)
      parameters.push_back(name + "=" + to_text(value));
    text += wrapped("", fmt::format("{}", fmt::join(parameters, " ")), terminal);
  }
  if (figures.time_ns.value > 0) {
    std::string line = fmt::format("{} [{}, {}], {}", format_time(figures.time_ns.value),
                                   format_time(figures.time_ns.low),
                                   format_time(figures.time_ns.high), figures.protocol);
    if (figures.clock_mhz > 0) line += fmt::format(", at {:.0f} MHz", figures.clock_mhz);
    if (!figures.throttled.empty()) line += fmt::format(" (held down: {})", figures.throttled);
    text += wrapped("", line + ", " + figures.where, terminal);
  }
  text += "\n" + wrapped("", explanation.headline, terminal);
  add_section(text, "", items_of(explanation.causes), terminal);
  add_section(text, explanation.main.empty() ? "what may cost time" : "what may lie behind it",
              items_of(explanation.behind), terminal);
  add_section(text, "what costs little", items_of(explanation.harmless), terminal);
  Items missing;
  for (const MissingFigure& each : explanation.missing) {
    missing.emplace_back(each.figure, each.command);
  }
  add_section(text, "what is not known, and what would say it", missing, terminal);
  return text;
}

Json explain_json(const Figures& figures, const Explanation& explanation) {
  Json missing = Json::array();
  for (const MissingFigure& each : explanation.missing) {
    missing.push_back({{"figure", each.figure}, {"command", each.command}});
  }
  return {{"title", figures.title},
          {"where", figures.where},
          {"config", config_json(figures.config)},
          {"main_cause", explanation.main.empty() ? Json(nullptr) : Json(explanation.main)},
          {"headline", explanation.headline},
          {"causes", causes_json(explanation.causes)},
          {"behind", causes_json(explanation.behind)},
          {"harmless", causes_json(explanation.harmless)},
          {"unexplained_share", explanation.unexplained},
          {"missing", missing},
          {"figures", figures_json(figures)}};
}

std::string faster_text(const Figures& before, const Figures& after, const Terminal& terminal) {
  const Explanation of_before = explain(before), of_after = explain(after);
  const Faster faster = why_faster(before, of_before, after, of_after);
  std::string text;
  const auto add = [&](const std::string& which, const Figures& figures, const Explanation& of) {
    text += wrapped(which, fmt::format("{}, {}", figures.title, figures.where), terminal);
    text += wrapped(std::string(which.size(), ' '), of.headline, terminal);
  };
  add("first:  ", before, of_before);
  add("second: ", after, of_after);
  text += "\n" + wrapped("", faster.headline, terminal);
  if (!faster.because.empty()) {
    text += "\nwhat of the time differs, the first | the second\n";
    for (const std::string& part : faster.because) text += wrapped("  ", part, terminal);
  }
  Items items;
  for (const auto& [name, a, b] : differing_rows(before, after)) {
    items.emplace_back(name, fmt::format("{} | {}", a, b));
  }
  add_section(text, "figures that differ, the first | the second", items, terminal);
  return text;
}

Json faster_json(const Figures& before, const Figures& after) {
  const Explanation of_before = explain(before), of_after = explain(after);
  const Faster faster = why_faster(before, of_before, after, of_after);
  Json differences = Json::array();
  for (const auto& [name, a, b] : differing_rows(before, after)) {
    differences.push_back({{"name", name}, {"first", a}, {"second", b}});
  }
  return {{"first", explain_json(before, of_before)},
          {"second", explain_json(after, of_after)},
          {"headline", faster.headline},
          {"because", faster.because},
          {"differences", differences}};
}

}  // namespace assay
