// `assay list`: kernels and sweeps, and how many configurations they have.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "base/device_info.h"
#include "base/error.h"
#include "base/terminal.h"
#include "cli/export_pack.h"
#include "cli/include_path.h"
#include "cli/sweep_target.h"
#include "cli/verbs.h"
#include "compile/definitions.h"
#include "compile/source_tree.h"
#include "judge/reference_shapes.h"
#include "report/entry_json.h"
#include "report/space_view.h"
#include "report/table.h"
#include "space/launched.h"
#include "space/space.h"
#include "spec/op_file.h"
#include "spec/sweep_spec.h"
#include "spec/twins.h"
#include "store/store.h"
#include "tuner/kernel_version.h"
#include "tuner/source_check.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct ListOptions : KernelFolders {
  std::vector<std::string> paths;
  std::string arch = "90a";
  bool recordings = false;
  bool json = false;
};

/// The YAML files in a folder, by name.
std::vector<fs::path> yaml_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

/// What a path names that is an op: `gemm_bf16`, or `gemm` or ops/gemm.yaml of several types.
std::vector<std::string> ops_named(const fs::path& path, const fs::path& kernels) {
  const bool is_file = path.extension() == ".yaml" && path.parent_path().filename() == "ops";
  const fs::path file = is_file ? path : kernels / "ops" / (path.string() + ".yaml");
  if (fs::is_regular_file(file)) return op_names(file);
  if (fs::exists(path)) return {};
  return {path.string()};
}

/// The files of the kernels of these ops in a folder, and in those below it.
std::vector<fs::path> files_of_ops(const std::vector<std::string>& ops, const fs::path& folder) {
  std::vector<fs::path> files = yaml_files_below(folder);
  std::erase_if(files, [&](const fs::path& file) {
    const std::vector<std::string> own = twin_ops(file);
    return std::ranges::find_first_of(own, ops) == own.end();
  });
  std::ranges::sort(files);
  return files;
}

/// The files to list. `single` says that the user named only files; these are then shown in detail.
/// Of ops that the user named, `ops` are all kernels listed.
std::vector<fs::path> files_of(const ListOptions& options, bool& single,
                               std::vector<std::string>& ops) {
  std::vector<fs::path> paths;
  const fs::path kernels = here_or_shipped(options.kernels.empty() ? "kernels" : options.kernels);
  for (const std::string& path : options.paths) {
    const std::vector<std::string> named = ops_named(path, kernels);
    const std::vector<fs::path> files = files_of_ops(named, kernels);
    if (files.empty()) {
      paths.push_back(here_or_shipped(path));
    } else {
      ops.insert(ops.end(), named.begin(), named.end());
      paths.insert(paths.end(), files.begin(), files.end());
    }
  }
  if (paths.empty()) {
    const bool any_here = fs::exists("kernels") || fs::exists("sweeps");
    for (const char* folder : {"kernels", "sweeps"}) {
      const fs::path path = any_here ? fs::path(folder) : here_or_shipped(folder);
      if (fs::is_directory(path)) paths.push_back(path);
    }
    if (paths.empty()) {
      throw UsageError("no folder kernels or sweeps here; name files or folders to list");
    }
  }
  single = ops.empty();
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    if (fs::is_directory(path)) {
      single = false;
      for (fs::path& file : yaml_files(path)) files.push_back(std::move(file));
    } else {
      files.push_back(path);
    }
  }
  return files;
}

/// The most steps that counting one file's spaces may take, so that a list of many files is quick:
/// `assay list` of all shipped files takes 9 s, and took 15 s with three times as many steps.
constexpr std::uint64_t kMostListedSteps = 1'000'000;

/// Takes what is counted off `steps_left`. Of a kernel that the device cannot run nothing is valid.
KernelRow kernel_row(const KernelSpec& kernel, const std::vector<Problem>& problems,
                     const DeviceInfo& device, std::uint64_t& steps_left) {
  KernelRow row{kernel.name, kernel.op, kernel.summary, kernel.arch, {}};
  for (const Problem& problem : problems) {
    const Space counted(kernel, problem, device);
    if (!runs_on(kernel, device.cc)) {
      const std::uint64_t raw = counted.size(0).raw;
      row.spaces.push_back(
          {problem, raw, 0, {{fmt::format("arch: [{}]", fmt::join(kernel.arch, ", ")), raw}}});
      continue;
    }
    const Space::Size size = counted.size(steps_left);
    steps_left -= std::min(steps_left, size.steps);
    SpaceRow space{problem, size.raw, size.valid, {}, size.whole};
    for (const Removal& removal : size.removed) {
      if (size.whole) space.removed.emplace_back(removal.constraint, removal.points);
    }
    row.spaces.push_back(std::move(space));
    check_reference_shapes(kernel, problem, device);
  }
  return row;
}

/// Once for each kernel, which many sweeps may name.
void warn_of_source(const KernelSpec& kernel, const fs::path& folder, const ListOptions& options,
                    std::set<std::string>& told) {
  if (!told.insert(fmt::format("{} {}", kernel.name, kernel.yaml_path.string())).second) return;
  for (const std::string& warning :
       source_warnings(kernel, include_path(folder, options.include))) {
    print_err("warning: {}\n", warning);
  }
}

/// Says which parameters, and which sizes of a reference, no source like these can have.
void warn_of_names(const KernelSpec& kernel, const ListOptions& options) {
  const fs::path folder =
      options.kernels.empty() ? kernel.yaml_path.parent_path() : fs::path(options.kernels);
  const auto warn = [&](const fs::path& source, const Config& config) {
    try {
      const std::vector<fs::path> headers =
          include_path(kernel, include_path(folder, options.include));
      const SourceTree tree = SourceTree::read(source, headers);
      for (const std::string& name : members_that_are_macros(definitions_of(config, {}), tree)) {
        print_err("warning: {}: {} has to be a macro, and the source has a member {}; rename it\n",
                  source.string(), name, name);
      }
    } catch (const UsageError&) {  // a sweep says what is wrong with the source
    }
  };
  Config config;
  for (const ParamSpec& param : kernel.params) {
    const Value any = param.values.empty() ? Value(std::int64_t{1}) : param.values.front();
    config.emplace_back(param.name, any);  // a value of the device's is a number, too
  }
  warn(kernel.source_path, macros_of(kernel, config));
  for (const ReferenceKernelSpec* own : own_kernels(kernel)) {
    warn(own->source, reference_macros(kernel, *own, kernel.smoke));
  }
}

SweepRow sweep_row(const fs::path& file, const ListOptions& options, const DeviceInfo& device,
                   std::uint64_t steps_left, std::set<std::string>& told) {
  const fs::path kernels = kernel_folder_of_file(options.kernels, file);
  const SweepSpec sweep = load_sweep(file, kernels);
  SweepRow row{.name = sweep.name,
               .file = file.string(),
               .strategy = std::string(to_text(sweep.search.strategy)),
               .protocol = sweep.measure.protocol,
               .num_problems = sweep.problems.size(),
               .kernels = {}};
  for (const KernelSpec& kernel : sweep.kernels) {
    row.kernels.push_back(kernel_row(kernel, sweep.problems, device, steps_left));
    warn_of_source(kernel, kernels, options, told);
  }
  return row;
}

/// The stale kernels of a recording, each with the reason: the kernel has changed since, or the
/// recording has no source hash.
std::map<std::string, std::string> stale_kernels(const Recording& recording,
                                                 const fs::path& kernels,
                                                 const std::vector<fs::path>& include_directories) {
  std::set<std::string> names;
  for (const TrialRecord& trial : recording.trials) names.insert(trial.kernel.name);
  std::map<std::string, std::string> stale;
  for (const std::string& name : names) {
    const std::optional<KernelSpec> kernel = find_kernel(kernels, name);
    const Recorded state =
        kernel ? compare_with(*kernel, recording, include_directories) : Recorded::changed;
    if (state == Recorded::changed) stale[name] = name + " has changed since";
    if (state == Recorded::unknown) {
      stale[name] = "the recording does not say which source of " + name + " it is of";
    }
  }
  return stale;
}

/// The recordings of this project; exit code 1 when one is stale.
int list_recordings(const ListOptions& options) {
  const fs::path kernels = kernel_folder(options.kernels);
  const std::vector<fs::path> include_directories = include_path(kernels, options.include);
  Table table({"recording", "sweep", "device", "recorded", ">trials", "state"});
  Json rows = Json::array();
  bool any_stale = false;
  for (const fs::path& file : find_recordings(".")) {
    const Recording recording = read_recording(file);
    const std::map<std::string, std::string> stale =
        stale_kernels(recording, kernels, include_directories);
    any_stale = any_stale || !stale.empty();
    const std::string name = file.lexically_normal().string();
    const std::string state = stale.empty()
                                  ? "current"
                                  : fmt::format("stale: {}; scripts/record.sh measures it again",
                                                fmt::join(std::views::values(stale), ", "));
    table.add_row({name, recording.sweep, recording.device.name, recording.recorded_at,
                   format_count(recording.trials.size()), state},
                  stale.empty() ? Style::plain : Style::warning);
    rows.push_back({{"recording", name},
                    {"sweep", recording.sweep},
                    {"device", recording.device.name},
                    {"recorded_at", recording.recorded_at},
                    {"num_trials", recording.trials.size()},
                    {"stale_kernels", json_list(std::views::keys(stale), std::identity())}});
  }
  if (options.json) {
    write_out(document("recordings", {{"recordings", rows}}));
  } else if (rows.empty()) {
    print_out("no recordings in results/recorded\n");
  } else {
    write_out(table.text(stdout_terminal()));
  }
  return any_stale ? kExitNo : kExitDone;
}

int run_list(const ListOptions& options) {
  if (options.recordings && !options.paths.empty()) {
    throw UsageError("--recordings lists results/recorded; leave out {}", options.paths.front());
  }
  if (options.recordings) return list_recordings(options);
  if (options.paths.size() == 1 && fs::path(options.paths[0]).extension() == ".pack") {
    return list_pack(options.paths[0], options.json);
  }
  const DeviceInfo device = nominal_device(options.arch);
  bool single = false;
  std::vector<std::string> ops;
  const std::vector<fs::path> files = files_of(options, single, ops);
  if (files.empty()) {
    print_err("no kernel or sweep (*.yaml) in {}\n",
              options.paths.empty() ? "kernels or sweeps"
                                    : fmt::format("{}", fmt::join(options.paths, ", ")));
    return kExitNo;
  }
  std::vector<KernelRow> kernels;
  std::vector<SweepRow> sweeps;
  std::vector<std::string> mistakes;
  std::set<std::string> told;
  for (const fs::path& file : files) {
    try {
      const std::uint64_t most_steps = single ? kMaxCountedSteps : kMostListedSteps;
      if (is_kernel_file(file)) {
        for (const KernelSpec& kernel : load_twins(file)) {
          if (!ops.empty() && std::ranges::find(ops, kernel.op) == ops.end()) continue;
          if (single) warn_of_names(kernel, options);
          std::uint64_t steps_left = most_steps;
          kernels.push_back(kernel_row(kernel, {kernel.smoke}, device, steps_left));
          warn_of_source(kernel, file.parent_path(), options, told);
        }
      } else {
        sweeps.push_back(sweep_row(file, options, device, most_steps, told));
      }
    } catch (const UsageError& error) {
      // A file with a mistake does not keep the others from being listed.
      mistakes.emplace_back(error.what());
      print_err("assay: {}\n", error.what());
    }
  }
  if (options.json) {
    print_out("{}", list_json(kernels, sweeps, device.name, mistakes));
  } else if (single) {
    for (const SweepRow& sweep : sweeps) {
      kernels.insert(kernels.end(), sweep.kernels.begin(), sweep.kernels.end());
    }
    print_out("{}", spaces_text(kernels, device.name, stdout_terminal()));
  } else {
    print_out("{}", list_text(kernels, sweeps, device.name, stdout_terminal()));
  }
  return mistakes.empty() ? kExitDone : kExitUsage;
}

}  // namespace

void add_list(Command program) {
  auto [verb, options] = program.add_verb<ListOptions>(
      "list", "kernels and sweeps: how many configurations, and what each constraint removed",
      run_list);
  verb.add_option("PATHS", options->paths,
                  "files, listed constraint by constraint, folders, a pack, or ops (gemm_bf16); "
                  "default: kernels sweeps");
  verb.add_option("--arch " + known_archs("|"), options->arch,
                  "the compute capability whose limits are used; default: 90a");
  add_kernel_folders(verb, *options, "the folder kernels beside sweeps");
  verb.add_flag("--recordings", options->recordings,
                "list the recordings in results/recorded; exit code 1 if any is stale");
  verb.add_flag("--json", options->json, "print JSON instead of tables");
  verb.footer("example: assay list kernels/gemm_mma.yaml --arch 80");
}

}  // namespace assay
