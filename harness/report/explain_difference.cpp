#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/counters.h"
#include "report/explain_rules.h"
#include "report/table.h"

namespace assay {
namespace {

// Fewer rounds have no interval, see paired_ratio().
constexpr std::size_t kLeastRounds = 6;

}  // namespace

std::vector<std::pair<std::string, std::string>> figure_rows(const Figures& figures) {
  std::vector<std::pair<std::string, std::string>> rows;
  const auto row = [&](std::string_view name, std::string value) {
    rows.emplace_back(name, std::move(value));
  };
  for (const auto& [name, value] : figures.config) row(name, to_text(value));
  if (figures.time_ns.value > 0) {
    row("time", fmt::format("{} [{}, {}]", format_time(figures.time_ns.value),
                            format_time(figures.time_ns.low), format_time(figures.time_ns.high)));
  }
  if (figures.clock_mhz > 0) row("clock", fmt::format("{:.0f} MHz", figures.clock_mhz));
  if (!figures.throttled.empty()) row("held down by", figures.throttled);
  if (figures.memory_ns > 0) row("memory takes", format_time(figures.memory_ns));
  if (figures.operations_ns > 0) row("operations take", format_time(figures.operations_ns));
  if (figures.launches_ns > 0) row("launches take", format_time(figures.launches_ns));
  std::vector<std::string> entries;
  for (const LaunchFigures& launch : figures.launches) {
    if (std::find(entries.begin(), entries.end(), launch.entry) != entries.end()) continue;
    entries.push_back(launch.entry);
    const auto count =
        std::count_if(figures.launches.begin(), figures.launches.end(),
                      [&](const LaunchFigures& other) { return other.entry == launch.entry; });
    std::string text = fmt::format("{} blocks of {} threads", launch.blocks, launch.threads);
    if (count > 1) text = fmt::format("{} times, {}", count, text);
    if (launch.smem_bytes > 0) {
      text += fmt::format(" and {} of shared memory",
                          format_bytes(static_cast<double>(launch.smem_bytes)));
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

Faster why_faster(const Figures& before, const Explanation& of_before, const Figures& after,
                  const Explanation& of_after) {
  const double a = before.time_ns.value, b = after.time_ns.value;
  if (a <= 0 || b <= 0) return {"at least one of the two is not timed, so neither is faster", {}};
  if (before.question != after.question) {
    return {
        fmt::format("what they were timed for differs, so their times are not compared: {}, and {}",
                    before.question, after.question),
        {}};
  }
  Interval ratio{a / b, before.time_ns.low / after.time_ns.high,
                 before.time_ns.high / after.time_ns.low};
  const std::size_t rounds = std::min(before.rounds_ns.size(), after.rounds_ns.size());
  const bool is_paired =
      !before.verdict.empty() && before.verdict == after.verdict && rounds >= kLeastRounds;
  if (is_paired) {
    ratio = paired_ratio(std::span(before.rounds_ns).first(rounds),
                         std::span(after.rounds_ns).first(rounds));
  }
  const std::string timed =
      is_paired ? fmt::format(", timed in turn for {} rounds", rounds) : std::string();
  if (!(ratio.low > 1) && !(ratio.high < 1)) {
    return {fmt::format("their samples cannot tell them apart: {} [{}, {}] and {} [{}, {}]{}",
                        format_time(a), format_time(before.time_ns.low),
                        format_time(before.time_ns.high), format_time(b),
                        format_time(after.time_ns.low), format_time(after.time_ns.high), timed),
            {}};
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
      if (std::find(names.begin(), names.end(), cause.name) == names.end()) {
        names.push_back(cause.name);
      }
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
  std::sort(parts.begin(), parts.end(),
            [](const Part& x, const Part& y) { return x.gain_ns > y.gain_ns; });
  for (Part& part : parts) faster.because.push_back(std::move(part.text));
  return faster;
}

}  // namespace assay
