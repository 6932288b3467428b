// Two kinds of formats. Tuners keep every trial of one kernel and problem, with times in
// milliseconds. Services follow a benchmark over time, and know it by its name, so a name says what
// was asked and not what won.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "report/config_text.h"
#include "report/entry_json.h"
#include "report/export.h"
#include "report/table.h"

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
    throw UsageError(
        "{} holds the trials of one kernel and problem, and there are {}, and {}; choose with "
        "--kernel, --problem, --device or --protocol",
        format, question(trials[0]), question(row));
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

std::string name_of(const TunedTable& table, const TunedRow& entry, const std::string& which) {
  return benchmark_name(table.op, which, entry.problem, table.protocol, table.objective);
}

/// The name with the device, for formats that have no other place for it.
std::string name_with_device(const TunedTable& table, const TunedRow& entry) {
  return table.device.slug() + '/' + name_of(table, entry, "best");
}

std::string config_line(const TunedRow& entry) {
  return entry.best.kernel + ' ' + to_text(entry.best.config);
}

/// As `assay bench` would print it.
Json iteration(const std::string& question, std::int64_t family, double time_ns) {
  const std::string name = question + "/iterations:1/manual_time";
  // Nothing runs on the CPU. compare.py wants a figure, and divides by it.
  return {{"name", name},
          {"family_index", family},
          {"per_family_instance_index", 0},
          {"run_name", name},
          {"run_type", "iteration"},
          {"repetitions", 1},
          {"repetition_index", 0},
          {"threads", 1},
          {"iterations", 1},
          {"real_time", time_ns},
          {"cpu_time", time_ns},
          {"time_unit", "ns"}};
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
  for (const auto& [name, value] : first.problem) problem.push_back(value_json(value));
  for (std::size_t i = 0; i < first.config.size(); ++i) {
    std::set<Value> tried;
    for (const TrialRow& row : trials) tried.insert(row.record.config.at(i).second);
    values[first.config[i].first] =
        json_list(tried, [](const Value& value) { return value_json(value); });
  }
  const Json header{{"device_name", trials[0].device.name}, {"kernel_name", first.kernel.name},
                    {"problem_size", std::move(problem)},   {"tune_params_keys", std::move(keys)},
                    {"tune_params", std::move(values)},     {"objective", "time"}};
  // The reader cuts lines: each row on its own, and "}\n}" at the end.
  std::string text = header.dump(0, ' ', true, Json::error_handler_t::replace);
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
      object[name] = value_json(value);
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
    text += fmt::format("{}\n{}: {}", known.size() == 1 ? "" : ",", line_of(key), line_of(object));
  }
  return text + "\n}\n}";
}

std::string benchmark_name(const std::string& op, const std::string& entry, const Problem& problem,
                           const std::string& protocol, const Objective& objective) {
  std::string name = op + '/' + entry;
  for (const auto& [dim, value] : problem) name += fmt::format("/{}:{}", dim, to_text(value));
  if (protocol != "cold") name += '/' + protocol;
  if (objective != Objective::time) name += '/' + std::string(to_text(objective));
  return name;
}

std::string export_google_benchmark(const std::vector<TunedTable>& tables) {
  Json benchmarks = Json::array();
  std::string date;
  std::int64_t family = 0;
  for (const TunedTable& table : tables) {
    if (table.device != tables[0].device) {
      throw UsageError(
          "google-benchmark names one device, and there are results of {} and {}; choose with "
          "--device",
          tables[0].device.name, table.device.name);
    }
    for (const TunedRow& entry : table.entries) {
      date = std::max(date, entry.finished_at);
      Json best = iteration(name_of(table, entry, "best"), family++, entry.time_ns.value);
      if (entry.roofline_ns > 0) best["roofline_ratio"] = entry.roofline_ratio();
      best["label"] = config_line(entry);
      benchmarks.push_back(std::move(best));
      if (entry.baseline.empty()) continue;
      benchmarks.push_back(
          iteration(name_of(table, entry, entry.baseline), family++, entry.baseline_ns));
    }
  }
  return dump({{"context",
                {{"date", date},
                 {"host_name", ""},
                 {"executable", "assay"},
                 {"num_cpus", 0},
                 {"mhz_per_cpu", 0},
                 {"cpu_scaling_enabled", false},
                 {"caches", Json::array()},
                 {"load_avg", Json::array()},
                 {"library_build_type", "release"},
                 {"device", tables.empty() ? "" : tables[0].device.name}}},
               {"benchmarks", std::move(benchmarks)}});
}

std::string export_github_action_benchmark(const std::vector<TunedTable>& tables) {
  Json list = Json::array();
  for (const TunedTable& table : tables) {
    for (const TunedRow& entry : table.entries) {
      Json result{
          {"name", name_with_device(table, entry)}, {"unit", "ns"}, {"value", entry.time_ns.value}};
      if (std::isfinite(entry.time_ns.low) && std::isfinite(entry.time_ns.high)) {
        result["range"] = fmt::format("{} .. {}", entry.time_ns.low, entry.time_ns.high);
      }
      result["extra"] =
          config_line(entry) + '\n' + measured_text(entry.provenance, entry.finished_at);
      list.push_back(std::move(result));
    }
  }
  return dump(list);
}

std::string export_bencher(const std::vector<TunedTable>& tables) {
  Json object = Json::object();
  for (const TunedTable& table : tables) {
    for (const TunedRow& entry : table.entries) {
      Json latency{{"value", entry.time_ns.value}};
      if (std::isfinite(entry.time_ns.low) && std::isfinite(entry.time_ns.high)) {
        latency["lower_value"] = entry.time_ns.low;
        latency["upper_value"] = entry.time_ns.high;
      }
      object[name_with_device(table, entry)] = {{"latency", std::move(latency)}};
    }
  }
  return dump(object);
}

std::string export_junit(const std::vector<TunedTable>& tables) {
  std::string cases;
  std::size_t tests = 0, failures = 0;
  for (const TunedTable& table : tables) {
    for (const TunedRow& entry : table.entries) {
      ++tests;
      cases += fmt::format("  <testcase classname=\"{}.{}.{}\" name=\"{}\" time=\"{:.9f}\"",
                           xml_text(table.op), xml_text(table.device.name),
                           xml_text(conditions_text(table)), xml_text(to_text(entry.problem)),
                           entry.time_ns.value / 1e9);
      const VerificationCheck* failure =
          entry.verification ? entry.verification->failure() : nullptr;
      if (failure == nullptr) {
        cases += "/>\n";
        continue;
      }
      ++failures;
      cases += fmt::format(">\n    <failure message=\"{} fails its verification, {}: {}\"/>\n",
                           xml_text(config_line(entry)), xml_text(failure->name),
                           xml_text(failure->message));
      cases += "  </testcase>\n";
    }
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"assay\" tests=\"{}\" failures=\"{}\">\n{}</testsuite>\n",
      tests, failures, cases);
}

}  // namespace assay
