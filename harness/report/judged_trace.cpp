#include "report/judged_trace.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "report/entry_json.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

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

Json correctness_json(const JudgedProblem& problem) {
  Json json = {{"max_relative_error", "NaN"}, {"max_absolute_error", "NaN"}};
  if (problem.relative_error) json["extra"] = {{"relative_error_norm", *problem.relative_error}};
  return json;
}

/// Beside the op's first baseline; zeros where it has none.
Json performance_json(const JudgedProblem& problem) {
  const auto baseline = std::find_if(problem.rivals.begin(), problem.rivals.end(),
                                     [](const Rival& rival) { return rival.kernel.empty(); });
  const bool is_known = baseline != problem.rivals.end();
  return {{"latency_ms", problem.time_ns.value / 1e6},
          {"reference_latency_ms", is_known ? baseline->time_ns / 1e6 : 0},
          {"speedup_factor", is_known ? baseline->speedup.value : 0}};
}

}  // namespace

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
      evaluation["correctness"] = correctness_json(problem);
    }
    if (status == "PASSED") evaluation["performance"] = performance_json(problem);
    const Json trace = {{"definition", judged.op},
                        {"workload", workload_json(problem.problem, judged.inputs)},
                        {"solution", std::filesystem::path(judged.submission).stem().string()},
                        {"evaluation", std::move(evaluation)}};
    lines += trace.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
  }
  return lines;
}

}  // namespace assay
