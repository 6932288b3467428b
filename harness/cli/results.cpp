#include "cli/results.h"

#include <filesystem>

#include "base/error.h"
#include "base/terminal.h"

namespace assay {
namespace {

constexpr const char* kDefaultDb = "results/assay.db";

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

}  // namespace

Filter ResultOptions::filter() const {
  if (!problem.empty()) parse_problem(problem);
  Filter filter;
  filter.op = op;
  filter.kernel = kernel;
  filter.problem = problem;
  filter.device = device;
  filter.sweep = sweep;
  return filter;
}

void add_result_options(Command verb, ResultOptions& options, const char* db) {
  verb.add_option("--db", options.db, db).placeholder("PATH");
  verb.add_option("--op", options.op, "only this op; default: all").placeholder("NAME");
  verb.add_option("--kernel", options.kernel, "only this kernel; default: all").placeholder("NAME");
  verb.add_option("--problem", options.problem,
                  "only problems that have these dimensions; default: all")
      .placeholder("M=16,N=4096");
  verb.add_option("--device", options.device,
                  "only this device, by name, folder name (nvidia_h200) or UUID; default: all")
      .placeholder("NAME");
  verb.add_option("--sweep", options.sweep, "only results of this sweep; default: all")
      .placeholder("NAME");
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

std::string asked_for(const ResultOptions& options,
                      const std::vector<std::pair<const char*, std::string>>& further) {
  std::string text;
  const auto add = [&text](const char* name, const std::string& value) {
    if (!value.empty()) text += (text.empty() ? "" : ", ") + std::string(name) + ' ' + value;
  };
  add("op", options.op);
  add("kernel", options.kernel);
  add("problem", options.problem);
  add("device", options.device);
  add("sweep", options.sweep);
  for (const auto& [name, value] : further) add(name, value);
  return text.empty() ? "anything" : text;
}

}  // namespace assay
