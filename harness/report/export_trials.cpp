// Every trial of one kernel and problem, as other tuners keep theirs. Both formats have times in
// milliseconds.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "report/entry_json.h"
#include "report/export.h"

namespace assay {
namespace {

constexpr double kMillisecondNs = 1e6;

void check_one_question(const std::vector<TrialRow>& trials, std::string_view format) {
  const auto question = [](const TrialRow& row) {
    return fmt::format("kernel {}, problem {} on {}, protocol {}", row.record.kernel.name,
                       to_text(row.record.problem), row.device.name, row.record.protocol.name);
  };
  for (const TrialRow& row : trials) {
    if (question(row) == question(trials[0])) continue;
    throw UsageError(fmt::format(
        "{} holds the trials of one kernel and problem, and there are {}, and {}; choose with "
        "--kernel, --problem, --device or --protocol",
        format, question(trials[0]), question(row)));
  }
}

std::vector<double> milliseconds(const Timing& timing) {
  std::vector<double> times;
  for (const double sample_ns : timing.samples_ns) times.push_back(sample_ns / kMillisecondNs);
  if (times.empty()) times.push_back(timing.median_ns / kMillisecondNs);
  return times;
}

/// Kernel Tuner's word for a failure.
std::string_view failure_word(Status status) {
  if (status == Status::constraints) return "InvalidConfig";
  return status == Status::compile ? "CompilationFailedConfig" : "RuntimeFailedConfig";
}

/// "2026-11-21T10:00:00Z" as Python's datetime writes it.
std::string python_time(const std::string& time) {
  return time.size() < 19 ? time : time.substr(0, 10) + ' ' + time.substr(11, 8) + ".000000+00:00";
}

std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', true, Json::error_handler_t::replace);
}

}  // namespace

std::string export_t4(const std::vector<TrialRow>& trials) {
  check_one_question(trials, "t4");
  Json results = Json::array();
  for (const TrialRow& row : trials) {
    const Outcome& outcome = row.record.outcome;
    if (outcome.status == Status::compiled) continue;  // T4 has no word for what was not run
    Json times{{"compilation_time", row.record.compile.compile_ms}};
    Json measurements = Json::array();
    if (outcome.timing) {
      times["runtimes"] = milliseconds(*outcome.timing);
      measurements.push_back({{"name", "time"},
                              {"value", outcome.timing->median_ns / kMillisecondNs},
                              {"unit", "ms"}});
    }
    for (const Measurement& measurement : row.record.measurements) {
      measurements.push_back(measurement_json(measurement));
    }
    results.push_back({{"timestamp", row.record.finished_at},
                       {"configuration", config_json(row.record.config)},
                       {"objectives", {"time"}},
                       {"times", std::move(times)},
                       {"invalidity", to_text(outcome.status)},
                       {"correctness", outcome.status == Status::correct ? 1 : 0},
                       {"measurements", std::move(measurements)}});
  }
  return dump({{"schema_version", "1.0.0"}, {"results", std::move(results)}});
}

std::string export_kernel_tuner(const std::vector<TrialRow>& trials) {
  check_one_question(trials, "kernel-tuner");
  const TrialRecord& first = trials.at(0).record;
  Json keys = Json::array(), values = Json::object(), problem = Json::array();
  for (const auto& [name, value] : first.config) keys.push_back(name);
  for (const auto& [name, value] : first.problem) {
    std::visit([&](auto number) { problem.push_back(number); }, value);
  }
  for (std::size_t i = 0; i < first.config.size(); ++i) {
    std::set<Value> tried;
    for (const TrialRow& row : trials) tried.insert(row.record.config.at(i).second);
    Json list = Json::array();
    for (const Value& value : tried) {
      std::visit([&list](const auto& held) { list.push_back(held); }, value);
    }
    values[first.config[i].first] = std::move(list);
  }
  const Json header{{"device_name", trials[0].device.name}, {"kernel_name", first.kernel.name},
                    {"problem_size", std::move(problem)},   {"tune_params_keys", std::move(keys)},
                    {"tune_params", std::move(values)},     {"objective", "time"}};
  // The reader cuts lines: each row on its own, and "}\n}" at the end.
  std::string text = json_text(header, 0);
  text.erase(text.find_last_of('}') - 1);
  text += ",\n\"cache\": {";
  std::set<std::string> known;  // a configuration may have been measured here and elsewhere
  for (const TrialRow& row : trials) {
    const TrialRecord& trial = row.record;
    if (!is_failure(trial.outcome.status) && !trial.outcome.timing) continue;
    std::string key;
    Json object = Json::object();
    for (const auto& [name, value] : trial.config) {
      key += (key.empty() ? "" : ",") + to_text(value);
      std::visit([&, &at = name](const auto& held) { object[at] = held; }, value);
    }
    if (!known.insert(key).second) continue;
    if (const auto& timing = trial.outcome.timing) {
      object["time"] = timing->median_ns / kMillisecondNs;
      object["times"] = milliseconds(*timing);
    } else {
      object["time"] = failure_word(trial.outcome.status);
      object["__error__"] = failure_word(trial.outcome.status);
    }
    object["compile_time"] = trial.compile.compile_ms;
    object["verification_time"] = 0;
    object["benchmark_time"] = trial.outcome.device_ms;
    object["strategy_time"] = 0;
    object["framework_time"] = 0;
    object["timestamp"] = python_time(trial.finished_at);
    text +=
        fmt::format("{}\n{}: {}", known.size() == 1 ? "" : ",", json_text(key), json_text(object));
  }
  return text + "\n}\n}";
}

}  // namespace assay
