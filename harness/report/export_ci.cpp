// The formats of services that follow a benchmark over time. They know a benchmark by its name, so
// a name says what was asked and not what won.
#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "report/config_text.h"
#include "report/entry_json.h"
#include "report/export.h"
#include "report/table.h"

namespace assay {
namespace {

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
      throw UsageError(fmt::format(
          "google-benchmark names one device, and there are results of {} and {}; choose with "
          "--device",
          tables[0].device.name, table.device.name));
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
