#include "report/history.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "report/entry_json.h"
#include "report/run_comparison.h"
#include "report/table.h"

namespace assay {
namespace {

Rounds rounds_of(const RankEntry& entry) { return {entry.samples_ns, entry.clocks_mhz}; }

/// Keeps of a result what tells of its environment: one trial of each kernel, and the best's.
RunResult without_samples(RunResult result) {
  const RankEntry best = result.winner();
  std::map<std::string, TriedConfig> kept;
  std::map<std::string, bool> seen;
  for (auto& [name, trial] : result.tried) {
    const bool is_best = &trial == result.find(best);
    if (is_best || !seen[trial.kernel.name]) kept.emplace(name, trial);
    seen[trial.kernel.name] = true;
  }
  result.tried = std::move(kept);
  auto& entries = result.rank->entries;
  std::erase_if(entries, [](const RankEntry& entry) { return !entry.winner; });
  for (RankEntry& entry : entries) {
    entry.samples_ns.clear();
    entry.clocks_mhz.clear();
  }
  result.rank->noise.reset();
  return result;
}

HistoryPoint point_of(const std::string& run, RunResult result) {
  HistoryPoint point;
  point.run = run;
  const RankEntry& best = result.winner();
  const Rounds rounds = rounds_of(best);
  point.time_ns = best.median_ns;
  if (!best.samples_ns.empty()) point.interval_ns = median_interval(best.samples_ns);
  point.time = level_of(log_times(rounds));
  point.cycles = level_of(log_cycles(rounds));
  for (const RankEntry& entry : result.rank->entries) {
    if (!entry.is_rival() || !entry.failure.empty()) continue;
    Rounds beside = rounds;
    beside.yardstick_ns = entry.samples_ns;
    if (const auto level = level_of(log_yardsticks(beside))) {
      point.ratios.emplace(entry.config, *level);
    }
  }
  point.result = without_samples(std::move(result));
  return point;
}

/// The baseline that all points have, by the same steps and the same cuBLAS; or "".
std::string common_baseline(const std::vector<HistoryPoint>& points) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (!are_baselines_alike(points[i - 1].result, points[i].result)) return "";
  }
  for (const auto& [name, level] : points.back().ratios) {
    if (std::ranges::all_of(
            points, [&name](const HistoryPoint& point) { return point.ratios.contains(name); })) {
      return name;
    }
  }
  return "";
}

/// What the search for steps looks at.
History history_of(const ResultHistory& one) {
  History history;
  const bool have_cycles = std::ranges::all_of(
      one.points, [](const HistoryPoint& point) { return point.cycles.has_value(); });
  for (const HistoryPoint& point : one.points) {
    if (!one.baseline.empty()) {
      history.values.push_back(point.ratios.at(one.baseline).log_value);
      continue;
    }
    history.values.push_back(point.time->log_value);
    // Where the clock is not known, time has to stand for both.
    history.checks.push_back(have_cycles ? point.cycles->log_value : point.time->log_value);
  }
  return history;
}

std::vector<std::string> changes_between(const RunResult& before, const RunResult& after) {
  std::vector<std::string> changes = environment_changes(before, after);
  const RankEntry& old_best = before.winner();
  const RankEntry& new_best = after.winner();
  if (old_best.kernel != new_best.kernel || old_best.config != new_best.config) {
    changes.push_back("another winner");
  } else if (is_same_code(before, old_best, after, new_best)) {
    changes.push_back("the machine code is the same");
  }
  if (before.device.uuid != after.device.uuid) changes.push_back("another GPU of the model");
  if (before.application_clocks && after.application_clocks &&
      *before.application_clocks != *after.application_clocks) {
    changes.push_back("the clock policy");
  }
  return changes;
}

Level level_at(const ResultHistory& one, std::size_t run) {
  const HistoryPoint& point = one.points[run];
  return one.baseline.empty() ? *point.time : point.ratios.at(one.baseline);
}

/// The largest change between two runs that can be seen in a history which is too short to find a
/// step in; nothing where it is long enough, or all of it is level.
std::optional<Step> visible_step(const ResultHistory& one, double least_ratio) {
  const std::size_t fewest = one.baseline.empty() ? kFewestRunsAlone : kFewestRuns;
  if (one.points.size() >= 2 * fewest) return std::nullopt;
  constexpr double kSigmas = 3;  // of what a run says of itself: how runs differ is not known
  std::optional<Step> largest;
  double most = std::log1p(least_ratio);
  for (std::size_t i = 1; i < one.points.size(); ++i) {
    const Level before = level_at(one, i - 1), after = level_at(one, i);
    const double change = after.log_value - before.log_value;
    const double margin = kSigmas * std::sqrt(before.variance + after.variance);
    if (std::abs(change) < std::max(most, margin)) continue;
    most = std::abs(change);
    largest = Step{0,
                   StepKind::few_runs,
                   i - 1,
                   i,
                   {std::exp(change), std::exp(change - margin), std::exp(change + margin)}};
  }
  return largest;
}

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

std::string day_of(const HistoryPoint& point) {
  return fmt::format("{} {}", point.run, point.result.finished_at.substr(0, 10));
}

void add_change(Table& table, const ResultHistory& one, const HistoryChange& change) {
  const Step& step = change.step;
  const bool is_told = step.kind != StepKind::pending && step.kind != StepKind::few_runs;
  table.add_row(
      {one.question().op, to_text(one.question().problem),
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

void HistoryBuilder::add(Run run) {
  for (RunResult& result : run.results) {
    if (!result.rank) continue;
    const std::string question = question_text(result);
    HistoryPoint point = point_of(run.name, std::move(result));
    if (point.time) points_[question].push_back(std::move(point));
  }
}

std::vector<ResultHistory> HistoryBuilder::finish(double least_ratio) {
  std::vector<ResultHistory> histories;
  for (auto& [question, points] : points_) {
    std::ranges::stable_sort(points, [](const HistoryPoint& a, const HistoryPoint& b) {
      return a.result.finished_at < b.result.finished_at;
    });
    const auto is_the_same = [](const HistoryPoint& a, const HistoryPoint& b) {
      return a.result.finished_at == b.result.finished_at && a.time_ns == b.time_ns &&
             a.time->log_value == b.time->log_value;
    };
    points.erase(std::unique(points.begin(), points.end(), is_the_same), points.end());
    ResultHistory& one = histories.emplace_back(ResultHistory{std::move(points), "", {}, {}});
    one.baseline = common_baseline(one.points);
  }
  points_.clear();
  std::ranges::stable_sort(histories, [&](const ResultHistory& a, const ResultHistory& b) {
    return order_of(a.question()) < order_of(b.question());
  });
  std::vector<History> values;
  for (ResultHistory& one : histories) {
    const History& history = values.emplace_back(history_of(one));
    for (const double value : history.values) {
      one.levels.push_back(std::exp(value - history.values.front()));
    }
  }
  const auto add_change = [](ResultHistory& one, const Step& step) {
    one.changes.push_back({step, changes_between(one.points[step.last_before].result,
                                                 one.points[step.first_after].result)});
  };
  for (const Step& step : find_steps(values, least_ratio)) add_change(histories[step.series], step);
  for (ResultHistory& one : histories) {
    if (!one.changes.empty()) continue;
    if (const auto step = visible_step(one, least_ratio)) add_change(one, *step);
  }
  return histories;
}

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
    const std::string heading = heading_text(one->question());
    Table table({"problem", ">runs", ">first", ">latest", ">overall", "relative to", "history"});
    for (; one != histories.end() && heading_text(one->question()) == heading; ++one) {
      num_runs = std::max(num_runs, one->points.size());
      table.add_row({to_text(one->question().problem), std::to_string(one->points.size()),
                     format_time(one->points.front().time_ns),
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
             "\n{} result{} over {} run{}: {} change{} to slower, {} to faster, {} pending{}\n",
             histories.size(), histories.size() == 1 ? "" : "s", num_runs, num_runs == 1 ? "" : "s",
             slower, slower == 1 ? "" : "s", faster, pending,
             few_runs == 0 ? "" : fmt::format(", {} with too few runs to tell", few_runs));
}

Json history_json(const std::vector<ResultHistory>& histories) {
  Json results = Json::array();
  for (const ResultHistory& one : histories) {
    Json points = Json::array();
    for (std::size_t i = 0; i < one.points.size(); ++i) {
      points.push_back(point_json(one.points[i], one.levels[i]));
    }
    results.push_back(question_json(one.question()));
    results.back().update({{"relative_to", text_or_null(one.baseline)},
                           {"points", std::move(points)},
                           {"changes", json_list(one.changes, change_json)}});
  }
  return results;
}

}  // namespace assay
