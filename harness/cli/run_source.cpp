#include "cli/run_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "base/nearest.h"

namespace assay {
namespace {

struct Source {
  std::string path;
  std::string sweep;  // or empty
};

/// A file whose own name has a # is that file.
Source parse_source(const std::string& text) {
  const std::size_t mark = text.rfind('#');
  if (mark == std::string::npos || std::filesystem::exists(text)) return {text, ""};
  if (mark + 1 == text.size()) {
    throw UsageError(fmt::format("expected a sweep's name or number after the # of \"{}\"", text));
  }
  return {text.substr(0, mark), text.substr(mark + 1)};
}

std::string sweeps_text(const std::vector<StoredSweep>& sweeps) {
  constexpr std::size_t kMost = 12;
  std::string text;
  for (std::size_t i = sweeps.size() > kMost ? sweeps.size() - kMost : 0; i < sweeps.size(); ++i) {
    text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", sweeps[i].id, sweeps[i].name,
                        sweeps[i].started_at.substr(0, 10));
  }
  return text.empty() ? "none" : text;
}

/// Makes the filter ask for one sweep, by its number or else by its name.
void ask_for_sweep(const Store& store, const std::string& sweep, Filter& filter) {
  const std::vector<StoredSweep> sweeps = store.sweeps();
  for (const StoredSweep& one : sweeps) {
    if (std::to_string(one.id) == sweep) filter.run = one.id;
    if (one.name == sweep) filter.sweep = sweep;
  }
  if (filter.run != 0) filter.sweep.clear();
  if (filter.run == 0 && filter.sweep.empty()) {
    throw UsageError(fmt::format("{} has no sweep '{}'; it has {}", store.path().string(), sweep,
                                 sweeps_text(sweeps)));
  }
}

ResultOptions options_of(const RunFilter& asked) {
  return {{}, asked.op, "", asked.problem, asked.device, ""};
}

std::string ops_text(const Run& run) {
  std::string text;
  for (const RunResult& result : run.results) {
    if (!text.ends_with(result.op)) text += (text.empty() ? "" : ", ") + result.op;
  }
  return text;
}

}  // namespace

void add_run_filter(Command verb, RunFilter& filter) {
  verb.add_option("--op", filter.op, "only this op; default: all").placeholder("NAME");
  verb.add_option("--problem", filter.problem,
                  "only problems that have these dimensions; default: all")
      .placeholder("M=16,N=4096");
  verb.add_option("--device", filter.device,
                  "only this device, by name, folder name (nvidia_h200) or UUID; default: all")
      .placeholder("NAME");
}

void add_margin(Command verb, std::string& margin) {
  verb.add_option("--margin", margin,
                  "least difference that counts, if the measured noise is not larger; default: 2%")
      .placeholder("PERCENT");
}

Run load_run(const std::string& text, const RunFilter& asked) {
  const Source source = parse_source(text);
  const Store store = Store::open_readonly(source.path);
  const ResultOptions options = options_of(asked);
  Filter filter = options.filter();
  if (!source.sweep.empty()) ask_for_sweep(store, source.sweep, filter);
  Run run = make_run(text, store, filter);
  if (!run.results.empty()) return run;
  const Run all = make_run(text, store, {});
  if (all.results.empty()) throw UsageError(text + " has no results");
  throw UsageError(
      fmt::format("{} has no result of {}; it has {}", text, asked_for(options), ops_text(all)));
}

std::vector<Run> load_runs(const std::string& path, const RunFilter& asked) {
  const Store store = Store::open_readonly(path);
  const std::vector<StoredSweep> sweeps = store.sweeps();
  std::vector<Run> runs;
  for (const StoredSweep& sweep : sweeps) {
    Filter filter = options_of(asked).filter();
    filter.run = sweep.id;
    filter.is_ranked = true;
    const std::string file = std::filesystem::path(path).filename().string();
    const std::string name = sweeps.size() == 1 ? file : fmt::format("{}#{}", file, sweep.id);
    Run run = make_run(name, store, filter);
    if (!run.results.empty()) runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<std::string> run_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const std::string name = entry.path().string();
      if (name.ends_with(".db") || name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")) {
        found.push_back(name);
      }
    }
    if (found.empty()) {
      throw UsageError(path + " has no database (.db) and no recording (.jsonl, .jsonl.gz)");
    }
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

double parse_margin(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit(end, text.data() + text.size());
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  const double ratio = unit == "%" ? value / 100 : value;
  if (error != std::errc() || !(unit.empty() || unit == "%") || !(ratio > 0 && ratio < 1)) {
    throw UsageError(fmt::format(
        "--margin '{}': expected more than 0 and less than 100 %, such as 2% or 0.02", text));
  }
  return ratio;
}

}  // namespace assay
