#include "cli/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "base/terminal.h"

namespace assay {
namespace {

constexpr const char* kDefaultDb = "results/assay.db";

struct FilterOption {
  std::string_view name, operand, help;
  std::string Filter::*value;
  bool is_of_runs;
};
constexpr FilterOption kFilterOptions[] = {
    {"op", "NAME", "only this op; default: all", &Filter::op, true},
    {"kernel", "NAME", "only this kernel; default: all", &Filter::kernel, false},
    {"problem", "M=16,N=4096", "only problems that have these dimensions; default: all",
     &Filter::problem, true},
    {"device", "NAME", "only this device, by name, folder name (nvidia_h200) or UUID; default: all",
     &Filter::device, true},
    {"sweep", "NAME", "only results of this sweep; default: all", &Filter::sweep, false},
};

void add(Command& verb, const FilterOption& option, ResultOptions& options) {
  verb.add_option(fmt::format("--{} {}", option.name, option.operand), options.*option.value,
                  std::string(option.help));
}

Store open(const std::string& path) {
  Store store = Store::open_readonly(path);
  if (const auto notes = store.counted_otherwise(); !notes.empty()) {
    print_err("warning: {}: {}\n", path, notes.front());
    if (notes.size() > 1) {
      print_err("warning: so are {} more; `assay db check --db {}` lists them\n", notes.size() - 1,
                path);
    }
  }
  return store;
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
    throw UsageError("{} has no sweep '{}'; it has {}", store.path().string(), sweep,
                     sweeps_text(sweeps));
  }
}

std::string ops_text(const Run& run) {
  std::string text;
  for (const RunResult& result : run.results) {
    if (!text.ends_with(result.op)) text += (text.empty() ? "" : ", ") + result.op;
  }
  return text;
}

}  // namespace

Filter ResultOptions::filter(std::optional<Status> only) const {
  if (!problem.empty()) parse_problem(problem);
  Filter filter = *this;
  filter.status = only;
  return filter;
}

void add_result_options(Command verb, ResultOptions& options, const char* db) {
  verb.add_option("--db PATH", options.db, db);
  for (const FilterOption& option : kFilterOptions) add(verb, option, options);
}

void add_run_filter(Command verb, ResultOptions& options) {
  for (const FilterOption& option : kFilterOptions) {
    if (option.is_of_runs) add(verb, option, options);
  }
}

Store open_results(const ResultOptions& options) {
  if (options.db) return open(*options.db);
  if (!std::filesystem::exists(kDefaultDb)) {
    throw UsageError(std::string("no results yet: ") + kDefaultDb +
                     " does not exist; run assay sweep FILE, or name a database or a recording "
                     "with --db");
  }
  return open(kDefaultDb);
}

Store open_results(const std::string& db) {
  ResultOptions options;
  if (!db.empty()) options.db = db;
  return open_results(options);
}

std::string asked_for(const ResultOptions& options,
                      const std::vector<std::pair<const char*, std::string>>& further) {
  std::string text;
  const auto add = [&text](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  };
  for (const FilterOption& option : kFilterOptions) add(option.name, options.*option.value);
  for (const auto& [name, value] : further) add(name, value);
  return text.empty() ? "anything" : text;
}

int say_none(std::string_view what, const Store& store, const ResultOptions& options,
             const std::vector<std::pair<const char*, std::string>>& further,
             std::string_view advice) {
  print_err("no {} of {} in {}{}\n", what, asked_for(options, further), store.path().string(),
            advice);
  return kExitNo;
}

void add_margin(Command verb, std::string& margin) {
  verb.add_option("--margin PERCENT", margin,
                  "least difference that counts, if the measured noise is not larger; default: 2%");
}

Run load_run(const std::string& text, const ResultOptions& asked) {
  // A file whose own name has a # is that file.
  const std::size_t mark = std::filesystem::exists(text) ? std::string::npos : text.rfind('#');
  if (mark != std::string::npos && mark + 1 == text.size()) {
    throw UsageError("expected a sweep's name or number after the # of \"{}\"", text);
  }
  const Store store = Store::open_readonly(text.substr(0, mark));
  Filter filter = asked.filter();
  if (mark != std::string::npos) ask_for_sweep(store, text.substr(mark + 1), filter);
  Run run = make_run(text, store, filter);
  if (!run.results.empty()) return run;
  const Run all = make_run(text, store, {});
  if (all.results.empty()) throw UsageError(text + " has no results");
  throw UsageError("{} has no result of {}; it has {}", text, asked_for(asked), ops_text(all));
}

std::vector<Run> load_runs(const std::string& path, const ResultOptions& asked) {
  const Store store = Store::open_readonly(path);
  const std::vector<StoredSweep> sweeps = store.sweeps();
  std::vector<Run> runs;
  for (const StoredSweep& sweep : sweeps) {
    Filter filter = asked.filter();
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
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

double parse_margin(const std::string& text, const char* option) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit(end, text.data() + text.size());
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  const double ratio = unit == "%" ? value / 100 : value;
  if (error != std::errc() || !(unit.empty() || unit == "%") || !(ratio > 0 && ratio < 1)) {
    throw UsageError("{} '{}': expected more than 0 and less than 100 %, such as 2% or 0.02",
                     option, text);
  }
  return ratio;
}

}  // namespace assay
