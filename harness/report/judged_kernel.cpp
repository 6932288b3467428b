#include "report/judged_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "report/entry_json.h"
#include "report/table.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

std::string name_of(const JudgedProblem& problem) {
  return problem.hidden > 0 ? fmt::format("hidden problem {}", problem.hidden)
                            : to_text(problem.problem);
}

std::string name_of(const Rival& rival) { return rival.kernel.empty() ? rival.name : rival.kernel; }

/// The sizes of a hidden problem stay hidden.
Json where_json(const JudgedProblem& problem) {
  return {{"problem", problem.hidden > 0 ? Json(nullptr) : problem_json(problem.problem)},
          {"hidden", problem.hidden > 0 ? Json(problem.hidden) : Json(nullptr)},
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
       {"rank", problem.rank > 0 ? Json(problem.rank) : Json(nullptr)},
       {"rivals", json_list(problem.rivals, rival_json)}});
  return json;
}

}  // namespace

bool add_times(JudgedProblem& problem, const RankRecord& verdict, const std::string& kernel) {
  const std::vector<RankEntry>& entries = verdict.entries;  // fastest first
  const auto mine = std::find_if(entries.begin(), entries.end(), [&](const RankEntry& entry) {
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
        !entry.kernel.empty() &&
        std::any_of(problem.rivals.begin(), problem.rivals.end(),
                    [&](const Rival& rival) { return rival.kernel == entry.kernel; });
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

}  // namespace assay
