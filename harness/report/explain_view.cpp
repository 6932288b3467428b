#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "base/counters.h"
#include "base/find_named.h"
#include "base/terminal.h"
#include "report/entry_json.h"
#include "report/explain.h"
#include "report/table.h"

namespace assay {
namespace {

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

Json cause_json(const Cause& cause) {
  return {{"name", cause.name},
          {"kind", to_text(cause.kind)},
          {"share", cause.kind == CauseKind::hint ? Json(nullptr) : Json(cause.share)},
          {"text", cause.text}};
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
          {"sm_count", count_or_null(figures.sm_count)},
          {"registers", figures.report ? Json(figures.report->registers) : Json(nullptr)},
          {"spill_bytes", figures.report ? Json(figures.report->spill_bytes) : Json(nullptr)},
          {"launches", launches_json(figures.launches)},
          {"counters", counters},
          {"findings", figures.findings ? findings : Json(nullptr)}};
}

/// Figures with their names, as a table or a document shows them: "registers", "168".
Items figure_rows(const Figures& figures) {
  Items rows;
  const auto row = [&](std::string_view name, std::string value) {
    rows.emplace_back(name, std::move(value));
  };
  for (const auto& [name, value] : figures.config) row(name, to_text(value));
  if (figures.time_ns.value > 0) {
    row("time", format_interval(figures.time_ns));
  }
  if (figures.clock_mhz > 0) row("clock", fmt::format("{:.0f} MHz", figures.clock_mhz));
  if (!figures.throttled.empty()) row("held down by", figures.throttled);
  if (figures.memory_ns > 0) row("memory takes", format_time(figures.memory_ns));
  if (figures.operations_ns > 0) row("operations take", format_time(figures.operations_ns));
  if (figures.launches_ns > 0) row("launches take", format_time(figures.launches_ns));
  for (const LaunchFigures& launch : first_launches(figures.launches)) {
    const auto count = std::ranges::count(figures.launches, launch.entry, &LaunchFigures::entry);
    std::string text = fmt::format("{} blocks of {} threads", launch.blocks, launch.threads);
    if (count > 1) text = fmt::format("{} times, {}", count, text);
    if (launch.smem_bytes > 0) {
      text += fmt::format(" and {} of shared memory", format_bytes(launch.smem_bytes));
    }
    if (launch.occupancy) {
      text += fmt::format("; {} an SM, limited by {}", launch.occupancy->blocks,
                          launch.occupancy->limit);
      const auto places = static_cast<double>(launch.occupancy->blocks) * figures.sm_count;
      if (places > 0) {
        text += fmt::format("; {:.2f} waves", static_cast<double>(launch.blocks) / places);
      }
    }
    // Two configurations name their template arguments differently.
    row(launch.entry.substr(0, launch.entry.find('<')), std::move(text));
  }
  if (figures.report) {
    row("registers", std::to_string(figures.report->registers));
    row("spilled", fmt::format("{} bytes", figures.report->spill_bytes));
  }
  for (const CounterRow& each : counters()) {
    const auto value = figures.counter(each.name);
    if (!value) continue;
    row(each.name, each.unit == "B"   ? format_bytes(*value)
                   : each.unit == "%" ? fmt::format("{:.1f} %", *value)
                                      : fmt::format("{:.4g}", *value));
  }
  for (const CodeFinding& finding : figures.findings.value_or(std::vector<CodeFinding>())) {
    row(finding.name, finding.text);
  }
  return rows;
}

/// The values of the figures of one name, in one cell.
std::string joined(const Items& rows, const std::string& name) {
  std::vector<std::string_view> values;
  for (const auto& [of, value] : rows) {
    if (of == name) values.push_back(value);
  }
  return values.empty() ? "-" : fmt::format("{}", fmt::join(values, "; "));
}

/// Name, before, after of the figures that differ. What was not counted of one is no difference.
std::vector<std::array<std::string, 3>> differing_rows(const Figures& before,
                                                       const Figures& after) {
  const Items a = figure_rows(before), b = figure_rows(after);
  std::vector<std::string> names;
  for (const Items* rows : {&a, &b}) {
    for (const auto& [name, value] : *rows) add_once(names, name);
  }
  std::vector<std::array<std::string, 3>> rows;
  for (const std::string& name : names) {
    std::array<std::string, 3> row{name, joined(a, name), joined(b, name)};
    const bool is_uncounted = find_named(counters(), name) && (row[1] == "-" || row[2] == "-");
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
    std::string line = fmt::format("{}, {}", format_interval(figures.time_ns), figures.protocol);
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
  const auto missing_json = [](const MissingFigure& each) -> Json {
    return {{"figure", each.figure}, {"command", each.command}};
  };
  return {{"title", figures.title},
          {"where", figures.where},
          {"config", config_json(figures.config)},
          {"main_cause", explanation.main.empty() ? Json(nullptr) : Json(explanation.main)},
          {"headline", explanation.headline},
          {"causes", json_list(explanation.causes, cause_json)},
          {"behind", json_list(explanation.behind, cause_json)},
          {"harmless", json_list(explanation.harmless, cause_json)},
          {"unexplained_share", explanation.unexplained},
          {"missing", json_list(explanation.missing, missing_json)},
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
  const auto row_json = [](const auto& row) -> Json {
    return {{"name", row[0]}, {"before", row[1]}, {"after", row[2]}};
  };
  return {{"before", explain_json(before, of_before)},
          {"after", explain_json(after, of_after)},
          {"headline", faster.headline},
          {"because", faster.because},
          {"differences", json_list(differing_rows(before, after), row_json)}};
}

Faster why_faster(const Figures& before, const Explanation& of_before, const Figures& after,
                  const Explanation& of_after) {
  const double a = before.time_ns.value, b = after.time_ns.value;
  if (a <= 0 || b <= 0) return {"at least one of the two is not timed, so neither is faster"};
  if (before.question != after.question) {
    return {
        fmt::format("what they were timed for differs, so their times are not compared: {}, and {}",
                    before.question, after.question)};
  }
  Interval ratio{a / b, before.time_ns.low / after.time_ns.high,
                 before.time_ns.high / after.time_ns.low};
  const std::size_t rounds = std::min(before.rounds_ns.size(), after.rounds_ns.size());
  const bool is_paired =
      !before.verdict.empty() && before.verdict == after.verdict && rounds >= kFewestValues;
  if (is_paired) {
    ratio = paired_ratio(std::span(before.rounds_ns).first(rounds),
                         std::span(after.rounds_ns).first(rounds));
  }
  const std::string timed =
      is_paired ? fmt::format(", timed in turn for {} rounds", rounds) : std::string();
  if (!(ratio.low > 1) && !(ratio.high < 1)) {
    return {fmt::format("their samples cannot tell them apart: {} and {}{}",
                        format_interval(before.time_ns), format_interval(after.time_ns), timed)};
  }
  const bool is_after = ratio.low > 1;
  Faster faster{
      fmt::format("the {} is {:.4g} times as fast [{:.4g}, {:.4g}]{}: {} and {}",
                  is_after ? "second" : "first", is_after ? ratio.value : 1 / ratio.value,
                  is_after ? ratio.low : 1 / ratio.high, is_after ? ratio.high : 1 / ratio.low,
                  timed, format_time(a), format_time(b)),
      {}};
  // Of each part of the time, how long it is in both.
  const auto part_ns = [](const Figures& figures, const Explanation& of, std::string_view name) {
    for (const Cause& cause : of.causes) {
      if (cause.name == name) return cause.share * figures.time_ns.value;
    }
    return 0.0;
  };
  struct Part {
    double gain_ns;
    std::string text;
  };
  std::vector<Part> parts;
  const auto add = [&](std::string_view name, double first_ns, double second_ns) {
    const double gain_ns = is_after ? first_ns - second_ns : second_ns - first_ns;
    if (gain_ns < std::abs(a - b) * kHarmless) return;
    const auto text = [](double ns) { return ns > 0 ? format_time(ns) : "none"; };
    parts.push_back({gain_ns, fmt::format("{}: {} | {}", name, text(first_ns), text(second_ns))});
  };
  std::vector<std::string_view> names;
  for (const Explanation* of : {&of_before, &of_after}) {
    bool has_limit = false;  // the others are less and overlap with it
    for (const Cause& cause : of->causes) {
      if (cause.kind == CauseKind::limit && std::exchange(has_limit, true)) continue;
      add_once(names, cause.name);
    }
  }
  for (const std::string_view name : names) {
    add(name, part_ns(before, of_before, name), part_ns(after, of_after, name));
  }
  // What runs at a higher clock computes faster; memory has a clock of its own.
  if (before.clock_mhz > 0 && after.clock_mhz > 0) {
    const double gain =
        is_after ? after.clock_mhz / before.clock_mhz - 1 : before.clock_mhz / after.clock_mhz - 1;
    const double gain_ns = gain * std::min(a, b);
    if (gain_ns >= std::abs(a - b) * kHarmless) {
      parts.push_back({gain_ns, fmt::format("clock: {:.0f} MHz | {:.0f} MHz, {:.1f} % higher",
                                            before.clock_mhz, after.clock_mhz, gain * 100)});
    }
  }
  add("not explained", of_before.unexplained * a, of_after.unexplained * b);
  std::ranges::sort(parts, std::ranges::greater(), &Part::gain_ns);
  for (Part& part : parts) faster.because.push_back(std::move(part.text));
  return faster;
}

}  // namespace assay
