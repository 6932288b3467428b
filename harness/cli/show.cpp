// `assay show`: one trial in full, a problem, or how many ended how, the failures, the times.
#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/terminal.h"
#include "cli/known_code.h"
#include "cli/results.h"
#include "cli/verbs.h"
#include "report/entry_json.h"
#include "report/trials_view.h"

namespace assay {
namespace {

struct ShowOptions {
  ResultOptions results;
  std::string target;              // an id or a problem
  std::optional<std::int64_t> id;  // read from it
  bool failures = false;
  bool times = false;
  std::size_t limit = 20;
  bool json = false;
};

int show_one(const ShowOptions& options, const Store& store) {
  const std::optional<TrialRow> row = store.trial(*options.id);
  if (!row) {
    const std::string none =
        fmt::format("no trial {} in {}; assay show --times and --failures list ids", *options.id,
                    store.path().string());
    if (options.json) write_out(document("error", {{"error", none}}));
    print_err("{}\n", none);
    return kExitNo;
  }
  const std::int64_t bytes = memory_bytes(*row);
  write_out(options.json ? trial_json(*row, bytes) : trial_text(*row, bytes, stdout_terminal()));
  return kExitDone;
}

/// Reads what the one argument is.
void read_target(ShowOptions& options) {
  const std::string& target = options.target;
  if (target.empty()) return;
  if (const auto id = trial_number(target)) {
    const ResultOptions& results = options.results;
    for (const auto& [name, is_given] : {std::pair("--failures", options.failures),
                                         {"--times", options.times},
                                         {"--op", !results.op.empty()},
                                         {"--kernel", !results.kernel.empty()},
                                         {"--problem", !results.problem.empty()},
                                         {"--device", !results.device.empty()},
                                         {"--sweep", !results.sweep.empty()}}) {
      if (is_given) throw UsageError("trial {} is one; leave {} out", *id, name);
    }
    options.id = id;
  } else if (target.find('=') != std::string::npos) {
    if (!options.results.problem.empty()) {
      throw UsageError("{} and --problem {} are two problems; leave one out", target,
                       options.results.problem);
    }
    options.results.problem = target;
  } else {
    throw UsageError("expected a trial's number, or a problem such as M=16,N=4096, found \"{}\"",
                     target);
  }
}

int show_problem(const ShowOptions& options, const Store& store) {
  const Results results = store.results(options.results.filter());
  write_out(options.json ? problem_view_json(results) : problem_text(results, stdout_terminal()));
  return results.trials.empty() ? say_none("trial", store, options.results) : kExitDone;
}

int run_show(ShowOptions options) {
  read_target(options);
  const Store store = open_results(options.results);
  if (options.id) return show_one(options, store);
  if (!options.target.empty() && !options.failures && !options.times) {
    return show_problem(options, store);
  }
  std::vector<TrialRow> rows = store.trials(options.results.filter());
  std::string kind;
  if (options.failures) {
    rows = failed_trials(std::move(rows));
    kind = "failed ";
  } else if (options.times) {
    rows = timed_trials(std::move(rows));
    kind = "timed ";
  }
  const bool listed = options.failures || options.times;
  if (options.json) print_out("{}", listed ? trials_json(rows, options.limit) : counts_json(rows));
  if (rows.empty()) {
    say_none(kind + "trial", store, options.results);
    // That nothing failed is good news, and so exit code 0.
    return options.failures ? kExitDone : kExitNo;
  }
  if (!options.json) {
    const Terminal terminal = stdout_terminal();
    write_out(options.failures ? failures_text(rows, options.limit, terminal)
              : options.times  ? times_text(rows, options.limit, terminal)
                               : counts_text(rows, terminal));
  }
  return kExitDone;
}

}  // namespace

void add_show(Command program) {
  auto [verb, options] = program.add_verb<ShowOptions>(
      "show", "one trial in full, or a problem; else how many trials ended how", run_show);
  verb.add_option("ID|PROBLEM", options->target,
                  "a trial's number, from --times or --failures\n"
                  "Of a problem, such as M=16, the search and the times are drawn.");
  add_result_options(verb, options->results);
  const Option failures =
      verb.add_flag("--failures", options->failures, "list the trials that failed, and why");
  verb.add_flag("--times", options->times, "list the timed trials, fastest first")
      .excludes(failures);
  verb.add_option("--limit COUNT", options->limit, "list at most so many; 0: all; default: 20")
      .between(0);
  verb.add_flag("--json", options->json, "print JSON instead of text");
  verb.footer("example: assay show --failures --op gemm_bf16");
}

}  // namespace assay
