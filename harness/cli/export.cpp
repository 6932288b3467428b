// `assay export`: the tuned tables for other software, or every trial of a sweep as a recording.
#include "report/export.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/device_info.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/terminal.h"
#include "cli/export_pack.h"
#include "cli/known_code.h"
#include "cli/results.h"
#include "cli/verbs.h"

namespace assay {
namespace {

const std::map<std::string, std::string (*)(const std::vector<TunedTable>&)> kTableFormats = {
    {"json", export_json},
    {"csv", export_csv},
    {"markdown", export_markdown},
    {"svg", export_svg},
    {"wisdom", export_wisdom},
    {"triton", export_triton},
    {"google-benchmark", export_google_benchmark},
    {"github-action-benchmark", export_github_action_benchmark},
    {"bencher", export_bencher},
    {"junit", export_junit}};
const std::map<std::string, std::string (*)(const std::vector<TrialRow>&)> kTrialFormats = {
    {"t4", export_t4}, {"kernel-tuner", export_kernel_tuner}};
constexpr const char* kVllmMoe = "vllm-moe";
constexpr const char* kHeader = "header";
constexpr const char* kPack = "pack";

/// Whether a format's reader looks up what to launch, of one kernel.
bool is_lookup(const std::string& format) {
  return format == "wisdom" || format == "triton" || format == kVllmMoe;
}

struct ExportOptions {
  ResultOptions results;
  std::string format;
  std::string protocol;
  std::string objective;
  std::string output;
  std::string name_space = "assay_tuned";
  std::vector<std::string> archs;
};

/// Whether `assay verify` found the winner wrong. Says so: a table whose reader launches what it
/// finds there leaves it out, and a table to be read names the failure.
bool is_refuted(const TunedTable& table, const TunedRow& entry) {
  const VerificationCheck* failure = entry.verification ? entry.verification->failure() : nullptr;
  if (failure == nullptr) return false;
  print_err("warning: {} {} {} {} is left out: it fails its verification, {}: {}\n", table.op,
            to_text(entry.problem), entry.best.kernel, to_text(entry.best.config), failure->name,
            failure->message);
  return true;
}

/// Tables, and the results that they were made of.
std::pair<std::vector<TunedTable>, Results> load_tables(const ExportOptions& options,
                                                        const Store& store) {
  Filter filter = options.results.filter(Status::correct);
  // Winners of one kernel are chosen below: a verdict is of all kernels that competed.
  const std::string kernel = is_lookup(options.format) ? std::exchange(filter.kernel, "") : "";
  Results results = store.results(filter, TunedTrials());
  std::vector<TunedTable> tables = tuned_tables(results, Screened::hide);
  std::erase_if(tables, [&](TunedTable& table) {
    std::erase_if(table.entries, [&](const TunedRow& entry) {
      return (!kernel.empty() && entry.best.kernel != kernel) ||
             ((is_lookup(options.format) || options.format == kHeader || options.format == kPack) &&
              is_refuted(table, entry));
    });
    return table.entries.empty() ||
           (!options.protocol.empty() && table.protocol != options.protocol) ||
           (!options.objective.empty() && to_text(table.objective) != options.objective);
  });
  for (TunedTable& table : tables) table = unique_problems(std::move(table), results.trials);
  return {std::move(tables), std::move(results)};
}

/// In full, failed ones too; measured here first.
std::vector<TrialRow> load_trials(const ExportOptions& options, const Store& store) {
  std::vector<TrialRow> trials;
  for (const TrialRow& row : store.results(options.results.filter()).trials) {
    if (!options.protocol.empty() && row.record.protocol.name != options.protocol) continue;
    check_interrupt();
    // Another process may have forgotten it meanwhile.
    if (std::optional<TrialRow> trial = store.trial(row.id)) trials.push_back(*std::move(trial));
  }
  std::ranges::stable_sort(trials, [](const TrialRow& a, const TrialRow& b) {
    return a.provenance.empty() && !b.provenance.empty();
  });
  return trials;
}

/// Where recordings are looked for. Whoever wrote the file that the name is from does not choose
/// the folder.
std::filesystem::path default_output(const Recording& recording) {
  std::filesystem::path name = recording.sweep;
  if (name.empty() || name != name.filename() || name == "." || name == "..") {
    throw UsageError("sweep '{}' is no name of a file: name one with --output", recording.sweep);
  }
  return std::filesystem::path("results/recorded") / recording.device.slug() / (name += ".jsonl");
}

/// Every trial of a sweep, failed ones too, in the text format that `--device replay:` reads.
int export_recording(const ExportOptions& options, const Store& store) {
  if (options.results.sweep.empty()) {
    throw UsageError("--format recording needs --sweep NAME: a recording is one sweep's");
  }
  const ResultOptions& asked = options.results;
  if (!asked.op.empty() || !asked.kernel.empty() || !asked.problem.empty() ||
      !options.protocol.empty() || !options.objective.empty()) {
    throw UsageError(
        "--format recording is of a whole sweep: leave out --op, --kernel, --problem, --protocol "
        "and --objective");
  }
  const Recording recording = store.record(asked.sweep, asked.device);
  const std::filesystem::path output =
      options.output.empty() ? default_output(recording) : std::filesystem::path(options.output);
  check_interrupt();
  create_folder_of(output);
  write_recording(recording, output);
  print_out("{}: {} trials of {} on {}\n", output.string(), recording.trials.size(),
            recording.sweep, recording.device.name);
  // A sweep may be of all GPUs of a host. Files of other tuners tell no UUID.
  const auto called = [](const DeviceInfo& device) {
    return device.uuid.empty() ? device.slug() : device.uuid;
  };
  std::set<std::string> others;
  for (const StoredSweep& run : store.sweeps()) {
    if (run.name == recording.sweep) others.insert(called(run.device));
  }
  others.erase(called(recording.device));
  for (const std::string& other : others) {
    print_err(
        "warning: a recording is of one device: for what {} measured of {}, export again "
        "with --device {} and another --output\n",
        other, recording.sweep, other);
  }
  return kExitDone;
}

int say_nothing_found(const ExportOptions& options, const Store& store, const char* what) {
  return say_none(what, store, options.results,
                  {{"protocol", options.protocol}, {"objective", options.objective}});
}

void write_text(const std::filesystem::path& output, const std::string& text) {
  check_interrupt();
  if (output.empty()) {
    print_out("{}", text);
    return;
  }
  create_folder_of(output);
  write_file_atomic(output, text);
}

/// The reader finds its files by their names, so all that can be chosen is the folder.
void write_named(const std::filesystem::path& folder, const std::vector<NamedText>& files) {
  for (const NamedText& file : files) {
    if (folder.empty()) {
      print_err("{}:\n", file.file_name);
      print_out("{}", file.text);
    } else {
      write_text(folder / file.file_name, file.text);
      print_out("{}\n", (folder / file.file_name).string());
    }
  }
}

int run_export(const ExportOptions& options) {
  if (options.format != kVllmMoe && std::filesystem::is_directory(options.output)) {
    throw UsageError("--output {} is a folder; name a file", options.output);
  }
  if (options.format == kPack && options.output.empty()) {
    throw UsageError("--format pack needs --output FILE: a pack is no text");
  }
  const Store store = open_results(options.results);
  if (options.format == "recording") return export_recording(options, store);
  if (const auto trials_as = kTrialFormats.find(options.format); trials_as != kTrialFormats.end()) {
    const std::vector<TrialRow> trials = load_trials(options, store);
    if (trials.empty()) return say_nothing_found(options, store, "trial");
    write_text(options.output, trials_as->second(trials));
    return kExitDone;
  }
  auto [tables, results] = load_tables(options, store);
  if (tables.empty()) {
    return say_nothing_found(options, store, "re-ranked winner (only these are exported)");
  }
  if (options.format == kPack) {
    std::vector<CrossTable> crossed;
    for (const TunedTable& table : tables) {
      const MeasuredConfigs measured = measured_configs(table, results);
      crossed.push_back({table});
      crossed.back().compare(measured.times, measured.winners);
    }
    write_out(export_pack(crossed, store, options.archs, options.output));
    return kExitDone;
  }
  if (options.format == kVllmMoe) {
    write_named(options.output, export_vllm_moe(tables));
  } else if (options.format == kHeader) {
    write_text(options.output,
               export_header(tables, options.name_space, contracts_of(tables, store)));
  } else {
    if (options.format == "json" || options.format == "csv") add_memory(tables, store);
    write_text(options.output, kTableFormats.at(options.format)(tables));
  }
  return kExitDone;
}

}  // namespace

void add_export(Command program) {
  auto [verb, options] = program.add_verb<ExportOptions>(
      "export", "write tuned tables for other software", run_export);
  verb.add_option("--format FORMAT", options->format,
                  "json, csv, markdown: all tables\n"
                  "svg: a picture of the speed-ups\n"
                  "header: C++17 with a constexpr lookup\n"
                  "pack: the winners with their machine code, for a program with libassay\n"
                  "wisdom, triton, vllm-moe: the winners of one kernel, for Kernel Launcher, "
                  "Triton, vLLM\n"
                  "google-benchmark, github-action-benchmark, bencher, junit: the winners' times\n"
                  "t4, kernel-tuner: every trial of one kernel and problem\n"
                  "recording: every trial of --sweep, to be replayed")
      .one_of({"json", "csv", "markdown", "svg", kHeader, kPack, "wisdom", "triton", kVllmMoe,
               "google-benchmark", "github-action-benchmark", "bencher", "junit", "t4",
               "kernel-tuner", "recording"})
      .required();
  add_result_options(verb, options->results);
  verb.add_option("--protocol cold|sustained|hot|graph", options->protocol,
                  "only this protocol; default: all")
      .one_of({"cold", "sustained", "hot", "graph"});
  verb.add_option("--objective OBJECTIVE", options->objective,
                  "only the winners by this objective: time, energy, edp or a metric; default: all")
      .check([](const std::string& text) {
        return parse_objective(text) ? "" : "it is no objective: time, energy, edp or a metric";
      });
  verb.add_option("--output FILE", options->output,
                  "file to write, for vllm-moe a folder; default: stdout\n"
                  "The default of a recording is results/recorded/GPU/SWEEP.jsonl.");
  verb.add_option("--namespace NAME", options->name_space,
                  "outer namespace of the header, with one inside for each op; default: "
                  "assay_tuned");
  verb.add_option("--arch " + known_archs("|"), options->archs,
                  "what the machine code of a pack is for; may be repeated; default: the GPU of "
                  "each table");
  verb.footer("example: assay export --format header --op gemm_bf16 --output tuned_gemm.h");
}

}  // namespace assay
