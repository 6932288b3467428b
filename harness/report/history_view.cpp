#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/comparison_view.h"
#include "report/entry_json.h"
#include "report/history.h"
#include "report/table.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostDrawn = 40;
constexpr double kLeastHeight = 1.02;  // so that noise is drawn flat

/// The newest levels as a line of blocks; slower is higher.
std::string drawing_of(const std::vector<double>& levels) {
  static constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto begin =
      levels.end() - static_cast<std::ptrdiff_t>(std::min(levels.size(), kMostDrawn));
  const auto [low, high] = std::minmax_element(begin, levels.end());
  const double height = std::log(std::max(*high / *low, kLeastHeight));
  std::string text;
  for (auto level = begin; level != levels.end(); ++level) {
    text += kBlocks[std::clamp(static_cast<int>(std::log(*level / *low) / height * 8), 0, 7)];
  }
  return text;
}

std::string heading_of(const ResultHistory& one) {
  const RunResult& result = one.points.front().result;
  return fmt::format("{} on {}, protocol {}", result.op, result.device.name, result.protocol);
}

std::string day_of(const HistoryPoint& point) {
  return fmt::format("{} {}", point.run, point.result.finished_at.substr(0, 10));
}

void add_change(Table& table, const ResultHistory& one, const HistoryChange& change) {
  const Step& step = change.step;
  const bool is_told = step.kind != StepKind::pending && step.kind != StepKind::few_runs;
  table.add_row(
      {one.points.front().result.op, to_text(one.points.front().result.problem),
       step.kind == StepKind::few_runs ? "too few runs to tell" : std::string(to_text(step.kind)),
       change_text(step.ratio.value),
       fmt::format("{:+.1f} .. {:+.1f}", (step.ratio.low - 1) * 100, (step.ratio.high - 1) * 100),
       day_of(one.points[step.last_before]), day_of(one.points[step.first_after]),
       change.environment.empty() ? "nothing known"
                                  : fmt::format("{}", fmt::join(change.environment, "; "))},
      !is_told               ? Style::plain
      : step.ratio.value > 1 ? Style::failure
                             : Style::good);
}

Json point_json(const HistoryPoint& point, double level) {
  Json cycles(nullptr);
  if (point.cycles) cycles = std::exp(point.cycles->log_value) / 1e3;  // ns x MHz
  return {{"run", point.run},
          {"measured_at", point.result.finished_at},
          {"time_ns", finite_or_null(point.time_ns)},
          {"time_low_ns", finite_or_null(point.interval_ns.low)},
          {"time_high_ns", finite_or_null(point.interval_ns.high)},
          {"cycles", cycles},
          {"level_ratio", finite_or_null(level)},
          {"toolchain", toolchain_json(point.result.toolchain)},
          {"cublas", text_or_null(point.result.rank->identity.cublas)},
          {"uuid", text_or_null(point.result.device.uuid)}};
}

Json change_json(const HistoryChange& change) {
  const Step& step = change.step;
  return {{"kind", to_text(step.kind)},
          {"last_before", step.last_before},
          {"first_after", step.first_after},
          {"ratio", finite_or_null(step.ratio.value)},
          {"ratio_low", finite_or_null(step.ratio.low)},
          {"ratio_high", finite_or_null(step.ratio.high)},
          {"q", step.q},
          {"changed_beside", change.environment}};
}

}  // namespace

std::string history_text(const std::vector<ResultHistory>& histories, const Terminal& terminal) {
  std::string text;
  std::size_t num_runs = 0;
  int slower = 0;
  int faster = 0;
  int pending = 0;
  int few_runs = 0;
  Table changes({"op", "problem", "change", ">by", ">95 % interval", "last before", "first after",
                 "what else changed"});
  for (auto one = histories.begin(); one != histories.end();) {
    const std::string heading = heading_of(*one);
    Table table({"problem", ">runs", ">first", ">latest", ">overall", "relative to", "history"});
    for (; one != histories.end() && heading_of(*one) == heading; ++one) {
      num_runs = std::max(num_runs, one->points.size());
      table.add_row({to_text(one->points.front().result.problem),
                     std::to_string(one->points.size()), format_time(one->points.front().time_ns),
                     format_time(one->points.back().time_ns), change_text(one->levels.back()),
                     one->baseline.empty() ? "-" : one->baseline, drawing_of(one->levels)});
      for (const HistoryChange& change : one->changes) {
        add_change(changes, *one, change);
        if (change.step.kind == StepKind::pending) {
          ++pending;
        } else if (change.step.kind == StepKind::few_runs) {
          ++few_runs;
        } else {
          ++(change.step.ratio.value > 1 ? slower : faster);
        }
      }
    }
    text += fmt::format("{}{}\n\n{}", text.empty() ? "" : "\n", heading, table.text(terminal));
  }
  if (slower + faster + pending + few_runs > 0) text += '\n' + changes.text(terminal);
  return text +
         fmt::format(
             "\n{} result{} over {} run{}: {} changes to slower, {} to faster, {} pending{}\n",
             histories.size(), histories.size() == 1 ? "" : "s", num_runs, num_runs == 1 ? "" : "s",
             slower, faster, pending,
             few_runs == 0 ? "" : fmt::format(", {} with too few runs to tell", few_runs));
}

std::string history_json(const std::vector<ResultHistory>& histories) {
  Json results = Json::array();
  for (const ResultHistory& one : histories) {
    const RunResult& result = one.points.front().result;
    Json points = Json::array();
    for (std::size_t i = 0; i < one.points.size(); ++i) {
      points.push_back(point_json(one.points[i], one.levels[i]));
    }
    Json changes = Json::array();
    for (const HistoryChange& change : one.changes) changes.push_back(change_json(change));
    results.push_back({{"op", result.op},
                       {"problem", problem_json(result.problem)},
                       {"device", result.device.name},
                       {"protocol", result.protocol},
                       {"relative_to", one.baseline.empty() ? Json(nullptr) : Json(one.baseline)},
                       {"points", std::move(points)},
                       {"changes", std::move(changes)}});
  }
  return document("history", {{"history", std::move(results)}});
}

}  // namespace assay
