// `assay export`: the tuned tables for other software, or every trial of a sweep as a recording.
#include "report/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "cli/results.h"
#include "cli/verbs.h"

namespace assay {
namespace {

struct Options {
  ResultOptions results;
  std::string format;
  std::string protocol;
  std::string objective;
  std::string output;
  std::string name_space = "assay_tuned";
};

std::vector<TunedTable> load_tables(const Options& options, const Store& store) {
  Filter filter = options.results.filter();
  filter.status = to_text(Status::correct);
  const Results results = store.results(filter);
  std::vector<TunedTable> tables = tuned_tables(results, Screened::hide);
  std::erase_if(tables, [&](const TunedTable& table) {
    return (!options.protocol.empty() && table.protocol != options.protocol) ||
           (!options.objective.empty() && to_text(table.objective) != options.objective);
  });
  for (TunedTable& table : tables) table = unique_problems(std::move(table), results.trials);
  return tables;
}

/// Every trial of a sweep, failed ones too, in the text format that `--device replay:` reads.
int export_recording(const Options& options, const Store& store) {
  if (options.results.sweep.empty()) {
    throw UsageError("--format recording needs --sweep NAME: a recording is one sweep's");
  }
  const Recording recording = store.record(options.results.sweep);
  const std::filesystem::path output =
      options.output.empty() ? std::filesystem::path("results/recorded") / recording.device.slug() /
                                   (recording.sweep + ".jsonl")
                             : std::filesystem::path(options.output);
  create_folder_of(output);
  write_recording(recording, output);
  print_out("{}: {} trials of {} on {}\n", output.string(), recording.trials.size(),
            recording.sweep, recording.device.name);
  return kExitDone;
}

int run_export(const Options& options) {
  if (std::filesystem::is_directory(options.output)) {
    throw UsageError(fmt::format("--output {} is a folder; name a file", options.output));
  }
  const Store store = open_results(options.results);
  if (options.format == "recording") return export_recording(options, store);
  const std::vector<TunedTable> tables = load_tables(options, store);
  if (tables.empty()) {
    print_err("no re-ranked result of {} in {}; only re-ranked winners are exported\n",
              asked_for(options.results), store.path().string());
    return kExitNo;
  }
  const std::string text = options.format == "csv"    ? export_csv(tables)
                           : options.format == "json" ? export_json(tables)
                                                      : export_header(tables, options.name_space);
  if (options.output.empty()) {
    print_out("{}", text);
    return kExitDone;
  }
  const std::filesystem::path output(options.output);
  create_folder_of(output);
  write_file_atomic(output, text);
  return kExitDone;
}

}  // namespace

void add_export(Command program) {
  auto options = std::make_shared<Options>();
  Command verb = program.add_command("export", "write tuned tables for other software");
  verb.add_option("--format", options->format,
                  "json, csv: all tables; header: C++20 with a constexpr lookup, which answers "
                  "with the problem itself, else the nearest, else the best compromise; "
                  "recording: every trial of --sweep, to be replayed")
      .placeholder("json|csv|header|recording")
      .one_of({"json", "csv", "header", "recording"})
      .required();
  add_result_options(verb, options->results);
  verb.add_option("--protocol", options->protocol, "only this protocol; default: all")
      .placeholder("cold|sustained|hot|graph");
  verb.add_option("--objective", options->objective,
                  "only the winners by time, energy or edp; default: all")
      .placeholder("time|energy|edp")
      .one_of(objective_words());
  verb.add_option("--output", options->output,
                  "file to write; default: stdout, and for a recording "
                  "results/recorded/GPU/SWEEP.jsonl")
      .placeholder("FILE");
  verb.add_option("--namespace", options->name_space,
                  "outer namespace of the header, with one inside for each op; default: "
                  "assay_tuned")
      .placeholder("NAME");
  verb.footer("example: assay export --format header --op gemm_bf16 --output tuned_gemm.h");
  verb.runs([options] { return run_export(*options); });
}

}  // namespace assay
