#include "report/explain_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/counters.h"
#include "report/entry_json.h"
#include "report/table.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kColumns = 100;

/// The text broken between words, where the first line begins with `begin` and the others with as
/// many blanks.
std::string wrapped(const std::string& begin, std::string_view text) {
  std::string out = begin;
  std::size_t column = begin.size();
  for (bool is_first = true; !text.empty(); is_first = false) {
    std::size_t end = std::min(text.find(' '), text.size());
    if (text.substr(end).starts_with(" %")) end = std::min(text.find(' ', end + 1), text.size());
    if (!is_first && column + 1 + end > kColumns) {
      out += "\n" + std::string(begin.size(), ' ');
      column = begin.size();
    } else if (!is_first) {
      out += ' ';
      ++column;
    }
    out += text.substr(0, end);
    column += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + "\n";
}

using Items = std::vector<std::pair<std::string, std::string>>;

void add_section(std::string& text, std::string_view head, const Items& items) {
  if (items.empty()) return;
  std::size_t width = 0;
  for (const auto& [name, value] : items) width = std::max(width, name.size());
  if (!text.empty()) text += "\n";
  if (!head.empty()) text += fmt::format("{}\n", head);
  for (const auto& [name, value] : items) {
    text += wrapped(fmt::format("  {:<{}}", name, width + 2), value);
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
  Json launches = Json::array(), counters = Json::object(), findings = Json::array();
  for (const LaunchFigures& launch : figures.launches) {
    Json occupancy(nullptr);
    if (const auto& of = launch.occupancy) {
      occupancy = {{"blocks", of->blocks}, {"limit", of->limit}, {"ratio", of->ratio}};
    }
    launches.push_back({{"entry", launch.entry},
                        {"blocks", launch.blocks},
                        {"threads", launch.threads},
                        {"occupancy", occupancy}});
  }
  for (const Measurement& each : figures.counters) counters[each.name] = each.value;
  for (const CodeFinding& finding : figures.findings.value_or(std::vector<CodeFinding>())) {
    findings.push_back({{"name", finding.name}, {"text", finding.text}});
  }
  return {{"time_ns", known_or_null(figures.time_ns.value)},
          {"ci_low_ns", known_or_null(figures.time_ns.low)},
          {"ci_high_ns", known_or_null(figures.time_ns.high)},
          {"clock_mhz", known_or_null(figures.clock_mhz)},
          {"bytes", known_or_null(figures.bytes)},
          {"flops", known_or_null(figures.flops)},
          {"memory_ns", known_or_null(figures.memory_ns)},
          {"operations_ns", known_or_null(figures.operations_ns)},
          {"roofline_ns", known_or_null(figures.roofline_ns)},
          {"launches_ns", known_or_null(figures.launches_ns)},
          {"sm_count", known_or_null(figures.sm_count)},
          {"registers", figures.report ? Json(figures.report->registers) : Json(nullptr)},
          {"spill_bytes", figures.report ? Json(figures.report->spill_bytes) : Json(nullptr)},
          {"launches", launches},
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

std::string explain_text(const Figures& figures, const Explanation& explanation) {
  std::string text = figures.title + "\n";
  if (!figures.parameters.empty()) {
    std::vector<std::string> parameters;
    for (const auto& [name, value] : figures.parameters) parameters.push_back(name + "=" + value);
    text += wrapped("", fmt::format("{}", fmt::join(parameters, " ")));
  }
  if (figures.time_ns.value > 0) {
    std::string line = fmt::format("{} [{}, {}], {}", format_time(figures.time_ns.value),
                                   format_time(figures.time_ns.low),
                                   format_time(figures.time_ns.high), figures.protocol);
    if (figures.clock_mhz > 0) line += fmt::format(", at {:.0f} MHz", figures.clock_mhz);
    if (!figures.throttled.empty()) line += fmt::format(" (held down: {})", figures.throttled);
    text += wrapped("", line + ", " + figures.where);
  }
  text += "\n" + wrapped("", explanation.headline);
  add_section(text, "", items_of(explanation.causes));
  add_section(text, explanation.main.empty() ? "what may cost time" : "what may lie behind it",
              items_of(explanation.behind));
  add_section(text, "what costs little", items_of(explanation.harmless));
  Items missing;
  for (const MissingFigure& each : explanation.missing) {
    missing.emplace_back(each.figure, each.command);
  }
  add_section(text, "what is not known, and what would say it", missing);
  return text;
}

Json explain_json(const Figures& figures, const Explanation& explanation) {
  Json missing = Json::array();
  for (const MissingFigure& each : explanation.missing) {
    missing.push_back({{"figure", each.figure}, {"command", each.command}});
  }
  Json parameters = Json::object();
  for (const auto& [name, value] : figures.parameters) parameters[name] = value;
  return {{"title", figures.title},
          {"where", figures.where},
          {"configuration", parameters},
          {"main", explanation.main.empty() ? Json(nullptr) : Json(explanation.main)},
          {"headline", explanation.headline},
          {"causes", causes_json(explanation.causes)},
          {"behind", causes_json(explanation.behind)},
          {"harmless", causes_json(explanation.harmless)},
          {"unexplained_share", explanation.unexplained},
          {"missing", missing},
          {"figures", figures_json(figures)}};
}

std::string faster_text(const Figures& before, const Figures& after) {
  const Explanation of_before = explain(before), of_after = explain(after);
  const Faster faster = why_faster(before, of_before, after, of_after);
  std::string text;
  const auto add = [&](const std::string& which, const Figures& figures, const Explanation& of) {
    text += wrapped(which, fmt::format("{}, {}", figures.title, figures.where));
    text += wrapped(std::string(which.size(), ' '), of.headline);
  };
  add("first:  ", before, of_before);
  add("second: ", after, of_after);
  text += "\n" + wrapped("", faster.headline);
  if (!faster.because.empty()) {
    text += "\nwhat of the time differs, the first | the second\n";
    for (const std::string& part : faster.because) text += "  " + part + "\n";
  }
  Items items;
  for (const auto& [name, a, b] : differing_rows(before, after)) {
    items.emplace_back(name, fmt::format("{} | {}", a, b));
  }
  add_section(text, "figures that differ, the first | the second", items);
  return text;
}

Json faster_json(const Figures& before, const Figures& after) {
  const Explanation of_before = explain(before), of_after = explain(after);
  const Faster faster = why_faster(before, of_before, after, of_after);
  Json figures = Json::array();
  for (const auto& [name, a, b] : differing_rows(before, after)) {
    figures.push_back({{"name", name}, {"first", a}, {"second", b}});
  }
  return {{"first", explain_json(before, of_before)},
          {"second", explain_json(after, of_after)},
          {"headline", faster.headline},
          {"because", faster.because},
          {"figures", figures}};
}

}  // namespace assay
