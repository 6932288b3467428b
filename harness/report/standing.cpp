#include "report/standing.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "report/entry_json.h"
#include "report/table.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

void add_ranked(Standing& standing, const RankRecord& verdict) {
  int rank = 0;
  for (const RankEntry& entry : verdict.entries) {  // fastest first
    if (!entry.failure.empty() || !(entry.is_rival() || !entry.kernel.empty())) continue;
    const bool is_known = std::any_of(
        standing.rows.begin(), standing.rows.end(),
        [&](const StandingRow& row) { return row.kernel == entry.kernel; });  // and is faster
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
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  for (StandingRow& row : rows) {
    row.rank = ++num_kernels;
    standing.rows.push_back(std::move(row));
  }
}

}  // namespace

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
    return {{"rank", row.rank > 0 ? Json(row.rank) : Json(nullptr)},
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
