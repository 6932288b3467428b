// `assay profile`: what the GPU's counters say of one trial.
#include <fmt/format.h>

#include <algorithm>

#include "base/counters.h"
#include "base/error.h"
#include "base/file.h"
#include "base/find_named.h"
#include "base/terminal.h"
#include "cli/gpu_setup.h"
#include "cli/include_path.h"
#include "cli/known_code.h"
#include "cli/results.h"
#include "cli/verbs.h"
#include "compile/nvrtc_compiler.h"
#include "report/entry_json.h"
#include "report/table.h"
#include "report/trials_view.h"
#include "spec/keys.h"
#include "tuner/kernel_version.h"
#include "tuner/sweep_run.h"

namespace assay {
namespace {

struct ProfileOptions : KernelFolders {
  std::string target;
  std::string db;
  std::string problem;
  std::string set;
  std::vector<std::string> metrics;  // of CUPTI's own
  int gpu = 0;
  bool json = false;
};

/// What is to be counted, and the trial that it is, if it is one.
struct ProfiledSubject {
  KernelSpec kernel;
  Problem problem;
  Config config;
  std::string protocol;
  std::string folder;  // of the kernels
  std::optional<TrialRow> trial = {};
};

/// Throws UsageError if there is no such trial, or its kernel has changed.
ProfiledSubject subject_of_trial(const ProfileOptions& options, std::int64_t id) {
  if (!options.problem.empty()) {
    throw UsageError("--problem is of a configuration; a trial has its own problem");
  }
  TrialRow row = known_trial(options.db, id);
  const TrialRecord& record = row.record;
  const std::string folder = kernel_folder(options.kernels, row.command_line);
  ProfiledSubject subject{known_kernel(folder, record.kernel.name), record.problem, record.config,
                          record.protocol.name, folder};
  if (version_of(subject.kernel, include_path(folder, options.include)) != record.kernel) {
    throw UsageError("{} has changed since trial {}; sweep it again",
                     subject.kernel.yaml_path.string(), id);
  }
  subject.trial = std::move(row);
  return subject;
}

/// Of what --problem does not say, the sizes are those of the kernel's smoke test.
ProfiledSubject subject_of_config(const ProfileOptions& options, const KernelConfig& named) {
  const std::string folder = kernel_folder(options.kernels);
  KernelSpec kernel = known_kernel(folder, named.kernel);
  Config config = complete(kernel, named.config);
  Problem problem = kernel.smoke;
  for (const auto& [name, value] : parse_problem(options.problem)) {
    Number* const number = find_value(problem, name);
    if (number == nullptr) {
      throw UsageError("--problem: {} has no dimension or trait \"{}\"; it has {}", named.kernel,
                       name, to_text(problem));
    }
    const auto& dims = kernel.dims;
    if (std::ranges::find(dims, name) != dims.end()) check_size(name, value);
    *number = value;
  }
  return {std::move(kernel), std::move(problem), std::move(config), "cold", folder};
}

ProfiledSubject find_subject(const ProfileOptions& options) {
  if (const auto id = trial_number(options.target)) return subject_of_trial(options, *id);
  if (const auto named = named_config(options.target)) return subject_of_config(options, *named);
  refuse_target(options.target);
}

/// What is asked for: a set, metrics, or both.
std::vector<CounterRow> rows_of(const ProfileOptions& options) {
  std::vector<CounterRow> rows;
  if (!options.set.empty() || options.metrics.empty()) {
    rows = counters_of(options.set.empty() ? "all" : options.set);
  }
  for (const std::string& metric : options.metrics) {
    if (metric.find("__") == metric.npos) {
      throw UsageError("--metric {}: expected a name of CUPTI's, such as lts__t_sectors.sum",
                       metric);
    }
    rows.push_back({metric, metric, "", "", "as CUPTI counts it"});
  }
  return rows;
}

void print_counted(const ProfileOptions& options, const ProfiledSubject& subject,
                   const std::vector<Measurement>& counted) {
  if (options.json) {
    Json values;
    for (const Measurement& each : counted) values[each.name] = each.value;
    Json trial;
    if (subject.trial) trial = subject.trial->id;
    write_out(document("profile", {{"trial", trial},
                                   {"kernel", subject.kernel.name},
                                   {"problem", problem_json(subject.problem)},
                                   {"config", config_json(subject.config)},
                                   {"protocol", subject.protocol},
                                   {"counters", values}}));
    return;
  }
  Table table({"counter", ">value", "what it counts"});
  for (const CounterRow& counter : rows_of(options)) {
    const auto found = std::ranges::find(counted, counter.name, &Measurement::name);
    table.add_row({std::string(counter.name),
                   found == counted.end() ? "not on this GPU" : measurement_text(*found),
                   std::string(counter.meaning)});
  }
  const std::string title = fmt::format(
      "{}{} {} {}, one launch, {}",
      subject.trial ? fmt::format("trial {}: ", subject.trial->id) : "", to_text(subject.problem),
      subject.kernel.name, to_text(subject.config), subject.protocol);
  const Terminal terminal = stdout_terminal();
  write_out(folded_text(title, terminal) + "\n" + table.text(terminal));
}

/// Where it was timed, and nowhere else: a GPU of another kind reads other bytes.
void store_counted(const ProfileOptions& options, const ProfiledSubject& subject,
                   const DeviceInfo& gpu, const std::vector<Measurement>& counted) {
  if (!subject.trial) {
    print_err("not stored: a configuration is no trial; assay sweep makes trials\n");
    return;
  }
  const TrialRow& row = *subject.trial;
  if (row.device.uuid == gpu.uuid && row.provenance.empty()) {
    if (!Store::open(open_results(options.db).path()).add_measurements(row, counted)) {
      print_err("not stored: trial {} was forgotten meanwhile\n", row.id);
    }
  } else {
    print_err("not stored: trial {} was measured on {} {}, and this is {} {}\n", row.id,
              row.device.name, row.device.uuid, gpu.name, gpu.uuid);
  }
}

int run_profile(const ProfileOptions& options) try {
  std::vector<std::string> names;
  for (const CounterRow& counter : rows_of(options)) names.emplace_back(counter.name);
  const ProfiledSubject subject = find_subject(options);
  NvrtcCompiler compiler({cache_directory()});
  GpuDevice gpu({options.gpu, {}});
  set_up_gpu(gpu, compiler);
  Store store = Store::in_memory();
  LoneRun lone(gpu, compiler, store,
               {include_path(subject.folder, options.include), native_arch(gpu.info().cc),
                "assay profile", subject.folder});
  lone.sweep.measure.protocol = subject.protocol;
  SweepRun& run = lone.run;
  const CompileResult compiled = run.compile(subject.kernel, subject.problem, subject.config);
  if (!compiled.ok) throw UsageError("{} does not compile:\n{}", subject.kernel.name, compiled.log);
  const std::vector<Measurement> counted =
      gpu.count(run.request_of(subject.kernel, subject.problem, subject.config, compiled), names);
  store_counted(options, subject, gpu.info(), counted);
  print_counted(options, subject, counted);
  return kExitDone;
} catch (const PlanError& error) {
  throw UsageError(error.what());
}

}  // namespace

void add_profile(Command program) {
  auto [verb, options] = program.add_verb<ProfileOptions>(
      "profile", "what the GPU's counters say of a trial: memory, L2, tensor cores, stalls",
      run_profile);
  verb.add_option("TRIAL|CONFIG", options->target,
                  "a trial's number, from assay show --times, or a configuration as "
                  "KERNEL:NAME=VALUE,...")
      .required();
  verb.add_option("--db PATH", options->db,
                  "the database that has the trial; default: results/assay.db");
  verb.add_option("--problem M=1,N=..", options->problem,
                  "the sizes of a configuration; default: those of the kernel's smoke test");
  verb.add_option("--set SET|COUNTER", options->set,
                  "a set (memory, compute, stalls, all) or one counter; default: all")
      .one_of(counter_words());
  verb.add_option("--metric NAME", options->metrics,
                  "a metric by CUPTI's own name, such as lts__t_sectors.sum; may be repeated\n"
                  "Without --set, nothing else is counted. `ncu --query-metrics` lists them.");
  verb.add_option("--gpu INDEX", options->gpu, "the GPU to run on; default: 0").between(0);
  add_kernel_folders(verb, *options, kFolderOfSweep);
  verb.add_flag("--json", options->json, "print JSON instead of a table");
  verb.footer(
      "example: assay profile 12 --set memory\n"
      "Counters are read in launches that are not timed. The counts are stored with the trial:\n"
      "assay show 12. Without a trial, nothing is stored.");
}

}  // namespace assay
