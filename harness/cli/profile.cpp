// `assay profile`: what the GPU's counters say of one trial.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/counters.h"
#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "cli/gpu_setup.h"
#include "cli/include_path.h"
#include "cli/results.h"
#include "cli/verbs.h"
#include "compile/nvrtc_compiler.h"
#include "kernel_version.h"
#include "progress.h"
#include "report/entry_json.h"
#include "report/table.h"
#include "report/trials_view.h"
#include "spec/twins.h"
#include "sweep_run.h"

namespace assay {
namespace {

struct Options {
  ResultOptions results;
  std::size_t id = 0;
  std::string set = "all";
  int gpu = 0;
  std::string kernels = "kernels";
  std::vector<std::string> include;
  bool json = false;
};

void print_counted(const Options& options, const TrialRow& row,
                   const std::vector<Measurement>& counted) {
  if (options.json) {
    nlohmann::ordered_json values;
    for (const Measurement& each : counted) values[each.name] = each.value;
    write_out(dump({{"trial", row.id}, {"counters", values}}));
    return;
  }
  Table table({"counter", ">value", "what it counts"});
  for (const CounterRow& counter : counters_of(options.set)) {
    const auto found = std::find_if(counted.begin(), counted.end(), [&](const Measurement& each) {
      return each.name == counter.name;
    });
    table.add_row({std::string(counter.name),
                   found == counted.end() ? "not on this GPU" : measurement_text(*found),
                   std::string(counter.meaning)});
  }
  print_out("trial {}: {} {} {}, one launch, {}\n\n{}", row.id, to_text(row.record.problem),
            row.record.kernel.name, to_text(row.record.config), row.record.protocol.name,
            table.text());
}

int run_profile(const Options& options) {
  std::optional<TrialRow> row;
  std::filesystem::path path;
  {
    const Store store = open_results(options.results);
    path = store.path();
    row = store.trial(options.id);
  }
  if (!row) {
    throw UsageError(fmt::format("no trial {} in {}; assay show --times and --failures list ids",
                                 options.id, path.string()));
  }
  const std::string& name = row->record.kernel.name;
  const std::optional<KernelSpec> kernel = find_kernel(options.kernels, name);
  if (!kernel) {
    throw UsageError(fmt::format("there is no kernel {} in {}; name its folder with --kernels",
                                 name, options.kernels));
  }
  const auto include_directories = include_path(options.kernels, options.include);
  if (version_of(*kernel, include_directories) != row->record.kernel) {
    throw UsageError(fmt::format("{} has changed since trial {}; sweep it again",
                                 kernel->yaml_path.string(), options.id));
  }

  NvrtcCompiler compiler({cache_directory(), 0, 60, true});
  GpuOptions gpu_options;
  gpu_options.index = options.gpu;
  GpuDevice gpu(gpu_options);
  set_up_gpu(gpu, compiler);
  SweepSpec sweep;
  sweep.measure.protocol = row->record.protocol.name;
  Store store = Store::in_memory();
  Progress progress(Progress::Mode::silent, "");
  SweepRun run{sweep,
               gpu,
               compiler,
               store,
               progress,
               {include_directories, native_arch(gpu.info().cc), "assay profile", options.kernels,
                "", false, false}};
  const CompileResult compiled = run.compile(*kernel, row->record.config);
  if (!compiled.ok) throw UsageError(fmt::format("{} does not compile:\n{}", name, compiled.log));
  std::vector<std::string> names;
  for (const CounterRow& counter : counters_of(options.set)) names.emplace_back(counter.name);
  const std::vector<Measurement> counted =
      gpu.count(run.request_of(*kernel, row->record.problem, row->record.config, compiled), names);
  if (row->device.uuid == gpu.info().uuid && row->provenance.empty()) {
    Store::open(path).add_measurements(row->id, counted);
  } else {
    print_err("not stored: trial {} was measured on {} {}, and this is {} {}\n", options.id,
              row->device.name, row->device.uuid, gpu.info().name, gpu.info().uuid);
  }
  print_counted(options, *row, counted);
  return kExitDone;
}

}  // namespace

void add_profile(Command program) {
  auto options = std::make_shared<Options>();
  Command verb = program.add_command(
      "profile", "what the GPU's counters say of a trial: memory, L2, tensor cores, stalls");
  verb.add_option("ID", options->id, "a trial's number, from assay show --times").required();
  verb.add_option("--db", options->results.db,
                  "the database that has it; default: results/assay.db")
      .placeholder("PATH");
  verb.add_option("--set", options->set, "the counters to ask for; default: all")
      .one_of(counter_sets());
  verb.add_option("--gpu", options->gpu, "the GPU to run on; default: 0")
      .placeholder("INDEX")
      .between(0, std::numeric_limits<int>::max());
  add_kernel_folders(verb, options->kernels, options->include);
  verb.add_flag("--json", options->json, "print JSON instead of a table");
  verb.footer(
      "example: assay profile 12 --set memory\n"
      "The launches that are counted are not those that are timed. What is counted is stored with\n"
      "the trial: assay show 12.");
  verb.runs([options] { return run_profile(*options); });
}

}  // namespace assay
