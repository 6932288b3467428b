#include "report/judged_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>

#include "report/entry_json.h"
#include "report/table.h"

namespace assay {
namespace {

std::string name_of(const JudgedProblem& problem) {
  return problem.hidden > 0 ? fmt::format("hidden problem {}", problem.hidden)
                            : to_text(problem.problem);
}

std::string name_of(const Rival& rival) { return rival.kernel.empty() ? rival.name : rival.kernel; }

/// The sizes of a hidden problem stay hidden.
Json where_json(const JudgedProblem& problem) {
  return {{"problem", problem.hidden > 0 ? Json(nullptr) : problem_json(problem.problem)},
          {"hidden", count_or_null(problem.hidden)},
          {"config", config_json(problem.config)}};
}

Json speed_json(const JudgedProblem& problem) {
  const auto rival_json = [](const Rival& rival) -> Json {
    return {{"kernel", text_or_null(rival.kernel)},
            {"name", rival.name},
            {"time_ns", rival.time_ns},
            {"speedup", finite_or_null(rival.speedup.value)},
            {"speedup_low", finite_or_null(rival.speedup.low)},
            {"speedup_high", finite_or_null(rival.speedup.high)}};
  };
  Json json = where_json(problem);
  json.update(
      {{"time_ns", known_or_null(problem.time_ns.value)},
       {"time_low_ns", finite_or_null(problem.time_ns.low)},
       {"time_high_ns", finite_or_null(problem.time_ns.high)},
       {"roofline_ratio", known_or_null(problem.roofline_ratio)},
       {"relative_error", problem.relative_error ? Json(*problem.relative_error) : Json(nullptr)},
       {"explanation", text_or_null(problem.explanation)},
       {"rank", count_or_null(problem.rank)},
       {"rivals", json_list(problem.rivals, rival_json)}});
  return json;
}

std::string_view status_of(const JudgedKernel& judged) {
  if (judged.verdict != Verdict::wrong) return "PASSED";
  if (judged.status == to_text(Status::runtime)) return "RUNTIME_ERROR";
  if (judged.status == to_text(Status::timeout)) return "TIMEOUT";
  if (judged.status == to_text(Status::correctness)) return "INCORRECT_NUMERICAL";
  return "COMPILE_ERROR";  // also a contract that cannot be read
}

/// A workload is named by its sizes. A trait is an input: a scalar.
Json workload_json(const Problem& problem, const std::vector<std::string>& inputs) {
  Json axes = Json::object(), given = Json::object();
  for (const std::string& input : inputs) given[input] = {{"type", "random"}};
  for (const auto& [name, value] : problem) {
    if (const auto* size = std::get_if<std::int64_t>(&value)) {
      axes[name] = *size;
    } else {
      given[name] = {{"type", "scalar"}, {"value", std::get<double>(value)}};
    }
  }
  return {{"uuid", problem.empty() ? "none" : to_text(problem)},
          {"axes", std::move(axes)},
          {"inputs", std::move(given)}};
}

/// Beside the op's first baseline; zeros where it has none.
Json performance_json(const JudgedProblem& problem) {
  const auto baseline =
      std::ranges::find_if(problem.rivals, [](const Rival& rival) { return rival.kernel.empty(); });
  const bool is_known = baseline != problem.rivals.end();
  return {{"latency_ms", problem.time_ns.value / 1e6},
          {"reference_latency_ms", is_known ? baseline->time_ns / 1e6 : 0},
          {"speedup_factor", is_known ? baseline->speedup.value : 0}};
}

void add_ranked(Standing& standing, const RankRecord& verdict) {
  int rank = 0;
  for (const RankEntry& entry : verdict.entries) {  // fastest first
    if (!entry.failure.empty() || !(entry.is_rival() || !entry.kernel.empty())) continue;
    const bool is_known = std::ranges::any_of(standing.rows, [&](const StandingRow& row) {
      return row.kernel == entry.kernel;
    });  // and is faster
    if (is_known) continue;
    StandingRow row{0, entry.kernel, entry.config, entry.median_ns, entry.ratio_to_best};
    if (!entry.kernel.empty()) {
      ++rank;
      row.rank = entry.winner || entry.tied ? 1 : rank;
    }
    standing.rows.push_back(std::move(row));
  }
}

/// The kernels that were too slow for the re-rank, or are still to be ranked.
void add_screened(Standing& standing, const std::vector<const TrialRecord*>& trials) {
  std::map<std::string, StandingRow> best;
  for (const TrialRecord* trial : trials) {
    const double time_ns = trial->outcome.timing->median_ns;
    StandingRow& row = best[trial->kernel.name];
    if (row.time_ns > 0 && row.time_ns <= time_ns) continue;
    row = {0, trial->kernel.name, to_text(trial->config), time_ns};
  }
  int num_kernels = 0;
  for (const StandingRow& row : standing.rows) {
    if (!row.kernel.empty()) ++num_kernels;
    best.erase(row.kernel);
  }
  std::vector<StandingRow> rows;
  for (auto& [kernel, row] : best) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, {}, &StandingRow::time_ns);
  for (StandingRow& row : rows) {
    row.rank = ++num_kernels;
    standing.rows.push_back(std::move(row));
  }
}

}  // namespace

bool add_times(JudgedProblem& problem, const RankRecord& verdict, const std::string& kernel) {
  const std::vector<RankEntry>& entries = verdict.entries;  // fastest first
  const auto mine = std::ranges::find_if(entries, [&](const RankEntry& entry) {
    return entry.kernel == kernel && entry.failure.empty();
  });
  if (mine == entries.end()) return false;
  problem.config = parse_config(mine->config);
  problem.time_ns = median_interval(mine->samples_ns);
  if (mine->roofline_ns > 0) problem.roofline_ratio = mine->roofline_ns / problem.time_ns.value;
  problem.rank = 1;
  for (const RankEntry& entry : entries) {
    if (entry.kernel == kernel || !entry.failure.empty()) continue;
    const bool is_slower_config =
        !entry.kernel.empty() && std::ranges::any_of(problem.rivals, [&](const Rival& rival) {
          return rival.kernel == entry.kernel;
        });
    if (is_slower_config) continue;
    const std::size_t rounds = std::min(entry.samples_ns.size(), mine->samples_ns.size());
    if (rounds == 0) continue;
    const std::span<const double> theirs(entry.samples_ns.data(), rounds);
    problem.rivals.push_back({entry.kernel, entry.config, entry.median_ns,
                              paired_ratio(theirs, {mine->samples_ns.data(), rounds})});
    if (entry.median_ns < mine->median_ns) ++problem.rank;
  }
  return true;
}

std::string_view to_text(Verdict verdict) {
  return verdict == Verdict::correct ? "correct" : verdict == Verdict::wrong ? "wrong" : "compiled";
}

std::string judged_text(const JudgedKernel& judged) {
  std::string text = fmt::format("{} for {}", judged.submission, judged.op);
  if (!judged.device.empty()) text += fmt::format(", on {}", judged.device);
  text += fmt::format(": {}\n", to_text(judged.verdict));
  if (judged.verdict == Verdict::wrong) {
    text += fmt::format("  {}{}{}", judged.status, judged.kind.empty() ? "" : "/", judged.kind);
    if (const auto& failed = judged.failed) {
      text += fmt::format(" on {}", name_of(*failed));
      if (!failed->config.empty()) text += fmt::format(" with {}", to_text(failed->config));
    }
    text += fmt::format(": {}\n", judged.message);
  }
  if (judged.is_known) {
    text += fmt::format("  the board has the same machine code: {}\n", judged.board);
  }
  for (const JudgedProblem& problem : judged.problems) {
    text += fmt::format("  {}", name_of(problem));
    if (!problem.config.empty()) text += fmt::format(" {}", to_text(problem.config));
    if (problem.time_ns.value > 0) text += "  " + format_time(problem.time_ns.value);
    if (problem.roofline_ratio > 0) {
      text += fmt::format(", {} of what the device allows", format_percent(problem.roofline_ratio));
    }
    if (problem.rank > 0) {
      text += fmt::format(", number {} of {}", problem.rank, problem.rivals.size() + 1);
    }
    text += '\n';
    for (const Rival& rival : problem.rivals) {
      text +=
          fmt::format("    {} times as fast as {}\n", format_ratio(rival.speedup), name_of(rival));
    }
    if (!problem.explanation.empty()) text += fmt::format("    {}\n", problem.explanation);
  }
  if (judged.num_failed > 0) {
    text +=
        fmt::format("  {} of {} configurations failed\n", judged.num_failed, judged.num_configs);
  }
  if (!judged.checks.empty()) {
    text += fmt::format("  verify: {} checks\n", judged.checks.size());
  }
  return text;
}

Json judged_json(const JudgedKernel& judged) {
  const bool is_wrong = judged.verdict == Verdict::wrong;
  Json failure = nullptr;
  if (is_wrong) {
    failure = {{"status", judged.status},
               {"kind", text_or_null(judged.kind)},
               {"message", judged.message}};
    if (judged.failed) failure.update(where_json(*judged.failed));
  }
  return {{"submission", judged.submission},
          {"op", judged.op},
          {"kernel", text_or_null(judged.kernel)},
          {"device", text_or_null(judged.device)},
          {"verdict", to_text(judged.verdict)},
          {"failure", std::move(failure)},
          {"problems", json_list(judged.problems, speed_json)},
          {"num_configs", judged.num_configs},
          {"num_failed", judged.num_failed},
          {"checks", json_list(judged.checks, verification_check_json)},
          {"board", text_or_null(judged.board)},
          {"is_known", judged.is_known}};
}

std::string trace_lines(const JudgedKernel& judged, std::string_view time) {
  const std::string_view status = status_of(judged);
  std::vector<JudgedProblem> shown;
  if (judged.verdict == Verdict::wrong) {
    shown.push_back(judged.failed.value_or(JudgedProblem{}));
  } else {
    shown = judged.problems;
  }
  std::string lines;
  for (const JudgedProblem& problem : shown) {
    if (problem.hidden > 0) continue;
    Json evaluation = {{"status", status},
                       {"environment",
                        {{"hardware", judged.device.empty() ? "unknown" : judged.device},
                         {"libs", Json::object()}}},
                       {"timestamp", time},
                       {"log", judged.message}};
    if (!judged.nvrtc_version.empty()) {
      evaluation["environment"]["libs"]["nvrtc"] = judged.nvrtc_version;
    }
    if (status == "PASSED" || status == "INCORRECT_NUMERICAL") {
      Json& json = evaluation["correctness"];
      json = {{"max_relative_error", "NaN"}, {"max_absolute_error", "NaN"}};
      if (problem.relative_error) {
        json["extra"] = {{"relative_error_norm", *problem.relative_error}};
      }
    }
    if (status == "PASSED") evaluation["performance"] = performance_json(problem);
    const Json trace = {{"definition", judged.op},
                        {"workload", workload_json(problem.problem, judged.inputs)},
                        {"solution", std::filesystem::path(judged.submission).stem().string()},
                        {"evaluation", std::move(evaluation)}};
    lines += line_of(trace) + '\n';
  }
  return lines;
}

std::vector<Standing> standings_of(const Results& results) {
  std::map<QuestionOrder, std::pair<Question, std::vector<const TrialRecord*>>> questions;
  for (const TrialRow& row : results.trials) {
    const TrialRecord& trial = row.record;
    if (trial.outcome.status != Status::correct || !trial.outcome.timing) continue;
    auto& [question, trials] = questions[order_of(question_of(row))];
    question = question_of(row);
    trials.push_back(&trial);
  }
  std::vector<Standing> standings;
  for (const auto& [order, asked] : questions) {
    Standing standing{asked.first, {}};
    for (const RankRow& rank : results.ranks) {
      if (question_of(rank).op == asked.first.op && is_comparable(rank, asked.first)) {
        add_ranked(standing, rank.record);
        break;
      }
    }
    add_screened(standing, asked.second);
    standings.push_back(std::move(standing));
  }
  return standings;
}

std::string standings_text(const std::vector<Standing>& standings, const Terminal& terminal) {
  std::string text, heading;
  for (const auto& [question, rows] : standings) {
    if (heading != heading_text(question)) {
      heading = heading_text(question);
      text += heading + '\n';
    }
    text += '\n' + to_text(question.problem) + '\n';
    Table table({">rank", "kernel", "configuration", ">time", ">time / best"});
    for (const StandingRow& row : rows) {
      const bool is_baseline = row.kernel.empty();
      const Interval& ratio = row.ratio_to_best;
      table.add_row({is_baseline ? "" : std::to_string(row.rank),
                     is_baseline ? row.name : row.kernel, is_baseline ? "" : row.name,
                     format_time(row.time_ns),
                     ratio.value <= 0                    ? ""
                     : ratio.low == 1 && ratio.high == 1 ? "1"
                                                         : format_ratio(ratio)});
    }
    text += table.text(terminal);
  }
  return text;
}

Json standings_json(const std::vector<Standing>& standings) {
  const auto row_json = [](const StandingRow& row) -> Json {
    return {{"rank", count_or_null(row.rank)},
            {"kernel", text_or_null(row.kernel)},
            {"name", row.name},
            {"time_ns", row.time_ns},
            {"best_ratio", known_or_null(row.ratio_to_best.value)},
            {"best_ratio_low", known_or_null(row.ratio_to_best.low)},
            {"best_ratio_high", known_or_null(row.ratio_to_best.high)}};
  };
  return json_list(standings, [&](const Standing& standing) {
    Json json = question_json(standing.question);
    json["rows"] = json_list(standing.rows, row_json);
    return json;
  });
}

}  // namespace assay
