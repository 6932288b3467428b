// `assay report`: what was measured, as one HTML file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/terminal.h"
#include "cli/figure_source.h"
#include "cli/gpu_setup.h"
#include "cli/include_path.h"
#include "cli/known_code.h"
#include "cli/results.h"
#include "cli/verbs.h"
#include "report/page_data.h"
#include "report/run_comparison.h"
#include "space/plan.h"
#include "tuner/progress.h"

namespace assay {
namespace {

constexpr double kLeastChangeRatio = 0.01;  // of a history, as of `assay history`

struct ReportOptions {
  std::vector<std::string> paths;
  ResultOptions filter;
  std::string html;
  std::string kernels;
  std::string baseline;
  std::string margin = "2%";
  bool no_code = false;
};

/// A kernel as it is now: how much a launch has to do is not stored, and a result is stale where
/// its kernel has changed since.
KernelNow kernel_now(KnownKernels& kernels, const std::filesystem::path& folder,
                     const DeviceInfo& device, const TunedRow& row) {
  KernelNow now;
  try {
    if (row.version.contract_hash.empty()) return now;
    const auto& [kernel, version, include] = kernels.find(row.best.kernel);
    if (row.version.source_hash != version.source_hash ||
        row.version.contract_hash != version.contract_hash) {
      now.stale = fmt::format("{} has changed since this was measured", kernel.name);
    }
    if (row.version.contract_hash != version.contract_hash) return now;
    const Plan plan = make_plan(kernel, row.problem, row.best.config, device);
    const std::filesystem::path file = kernel.yaml_path.lexically_relative(folder);
    now.work = Work{(file.parent_path() / kernel.name).string(), static_cast<double>(plan.flops),
                    static_cast<double>(plan.bytes)};
  } catch (const UsageError&) {
    // a kernel that is not there; a contract with a mistake is none
  }
  return now;
}

int run_report(const ReportOptions& options) {
  if (std::filesystem::is_directory(options.html)) {
    throw UsageError("--html {} is a folder; name a file", options.html);
  }
  const Filter& filter = options.filter;
  std::vector<std::string> paths = options.paths;
  if (paths.empty()) paths = {open_results(ResultOptions()).path().string()};
  const std::filesystem::path folder = kernel_folder(options.kernels);
  KnownKernels kernels(folder.string());
  FigureSource figures(folder, {});
  // Codes are compiled to be read, about half a second each: with many winners that takes a while.
  const std::vector<std::string> files = run_files(paths);
  ProgressScreen screen(ProgressScreen::detect());
  const std::size_t line = screen.add_line("");
  screen.begin(files.size());
  std::string source;  // that is read now
  CodeOf code_of;
  CodeAhead code_ahead;
  if (!options.no_code) {
    code_of = [&](const TrialRow& row, const std::string& baseline) {
      screen.show(line,
                  fmt::format("{}: the code of {} {}", source, row.record.kernel.name,
                              to_text(row.record.problem)),
                  false);
      return figures.code_of(row, baseline);
    };
    code_ahead = [&](const TrialRow& row, const std::string& baseline) {
      figures.compile_ahead(row, baseline);
    };
  }
  PageData page(
      [&](const DeviceInfo& device, const TunedRow& row) {
        return kernel_now(kernels, folder, device, row);
      },
      load_ceilings,
      [&](const TrialRow& row) { return figures.of_trial(row, FigureSource::Code::leave); },
      std::move(code_of), std::move(code_ahead));
  HistoryBuilder history;
  const double margin_ratio = parse_margin(options.margin);
  std::optional<Run> before;
  if (!options.baseline.empty()) before = load_run(options.baseline, options.filter);
  bool has_compared = false;
  std::string why_not;
  for (const std::string& path : files) {
    check_interrupt();
    source = std::filesystem::path(path).filename().string();
    RunBuilder tried;
    const Results results = Store::open_readonly(path).results(
        filter, [&](const TrialRow& trial, const Results& known) {
          if (before) tried.add(trial);
          return page.take(trial, known);
        });
    std::optional<RunComparison> since;
    if (before) {
      try {
        since = compare_runs(*before, tried.finish(source, results.ranks), margin_ratio);
        has_compared = true;
      } catch (const UsageError& error) {  // the two have nothing in common
        why_not = error.what();
      }
    }
    check_interrupt();
    page.add(source, results, since ? &*since : nullptr);
    check_interrupt();
    for (Run& run : load_runs(path, options.filter)) history.add(std::move(run));
    screen.count(line, false, false);
  }
  screen.finish();
  if (page.empty()) {
    print_err("no finished trial in {}; there is nothing to show\n", fmt::join(paths, ", "));
    return kExitNo;
  }
  if (before && !has_compared) throw UsageError(why_not);
  const std::string html = page_html(page.json(history.finish(kLeastChangeRatio)));
  check_interrupt();
  create_folder_of(options.html);
  write_file_atomic(options.html, html);
  print_out("{}: {} trials, {:.1f} MB\n", options.html, page.num_trials(),
            static_cast<double>(html.size()) * 1e-6);
  return kExitDone;
}

}  // namespace

void add_report(Command program) {
  auto [verb, options] = program.add_verb<ReportOptions>(
      "report", "one HTML file that opens offline: winners, every trial, history, GPUs",
      run_report);
  verb.add_option("PATH PATH...", options->paths,
                  "databases, recordings, or folders of both; default: results/assay.db");
  verb.add_option("--html FILE", options->html, "the file to write").required();
  verb.add_option("--baseline PATH[#SWEEP]", options->baseline,
                  "an earlier run; the overview then says what became of each result since, as "
                  "assay compare does");
  add_margin(verb, options->margin);
  verb.add_flag("--no-code", options->no_code,
                "compile nothing, and leave out what the winners' source and machine code hold");
  add_run_filter(verb, options->filter);
  verb.add_option("--kernels FOLDER", options->kernels,
                  "where the contracts are that say how much a launch has to do; default: kernels")
      .existing_folder();
  verb.footer(
      "exit codes: 0 done; 1 there is no trial to show; 2 a mistake; 3 the machine\n"
      "example: assay report --html report.html\n"
      "example: assay report after.db --baseline before.db --html report.html");
}

}  // namespace assay
