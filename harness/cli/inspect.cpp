// `assay inspect`: what the compiler made of a kernel, and what tells two codes apart.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/device_info.h"
#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "cli/include_path.h"
#include "cli/known_code.h"
#include "cli/verbs.h"
#include "compile/nvrtc_compiler.h"
#include "report/entry_json.h"
#include "report/inspect_view.h"
#include "report/table.h"
#include "space/plan.h"
#include "tuner/kernel_version.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct InspectOptions : KernelFolders {
  std::string target;
  std::string other;
  std::string db;
  std::string arch = "90a";
  std::string output;
  bool sass = false;
  bool listing = false;
  bool json = false;
};

/// What one argument names, with the configuration where it has one.
struct Subject {
  Inspected inspected;
  std::string kernel = {};
  Config config = {};
};

/// Without a problem the launches are those of the contract's smoke problem.
Subject inspect_config(const InspectOptions& options, const std::string& name, const Config& given,
                       const std::string& arch, const TrialRow* trial) {
  const std::string folder =
      kernel_folder(options.kernels, trial != nullptr ? trial->command_line : "");
  const KernelSpec kernel = known_kernel(folder, name);
  const std::vector<fs::path> folders = include_path(folder, options.include);
  // A contract says what is compiled, too: macros, options.
  if (trial != nullptr && version_of(kernel, folders) != trial->record.kernel) {
    print_err("{} has changed since this trial; what is shown is the code as it is now\n", name);
  }
  const Config config = complete(kernel, given);
  const DeviceInfo info = nominal_device(arch);
  const Problem& problem = trial != nullptr ? trial->record.problem : kernel.smoke;
  NvrtcCompiler compiler({cache_directory(), 1});
  const auto read = [&] {
    try {
      return read_compiled(
          begin_reading(compiler, compile_job(kernel, problem, config, info, arch, folders)),
          fmt::format("{} {}", name, to_text(config)), options.sass);
    } catch (const UsageError& error) {
      const std::vector<std::string>& archs = kernel.arch;
      if (std::ranges::find(archs, arch) != archs.end()) throw;
      throw UsageError("{}\n{} is written for {}, and --arch is {}", error.what(), name,
                       fmt::join(archs, ", "), arch);
    }
  };
  Subject subject{read(), name, config};
  try {
    const Plan plan = make_plan(kernel, problem, config, info);
    subject.inspected.launches =
        launch_figures(plan, info.cc, subject.inspected.entries, std::nullopt);
  } catch (const PlanError& error) {
    print_err("how it fills an SM is not known: {}\n", error.what());
  }
  return subject;
}

Subject inspect_trial(const InspectOptions& options, std::int64_t id) {
  const TrialRow row = known_trial(options.db, id);
  if (row.record.toolchain.arch.empty()) {
    throw UsageError(
        "trial {} is of another tuner's file, which does not say what it was compiled for; name "
        "the configuration: assay inspect {}:{}",
        id, row.record.kernel.name, to_text(row.record.config));
  }
  return inspect_config(options, row.record.kernel.name, row.record.config,
                        row.record.toolchain.arch, &row);
}

Subject inspect_file(const InspectOptions& options, const fs::path& path) {
  const std::string extension = path.extension().string(), title = path.string();
  const std::string content = read_file(path);  // what is wrong with it is said as for every file
  if (extension == ".cu") {
    NvrtcCompiler compiler({cache_directory(), 1});
    const std::vector<fs::path> folders =
        include_path(kernel_folder(options.kernels), options.include);
    return {read_compiled(begin_reading(compiler, {path, folders, {}, options.arch}), title,
                          options.sass)};
  }
  if (extension == ".ptx") return {{title, read_ptx(content, title)}};
  if (extension == ".cubin") {
    if (!content.starts_with("\x7f"
                             "ELF")) {
      throw UsageError("{}: no machine code; a cubin is an ELF file", title);
    }
    return {{title, disassemble(path, title)}};
  }
  return {{title, read_sass(content, title)}};
}

Subject find_subject(const InspectOptions& options, const std::string& target) {
  constexpr std::array<std::string_view, 4> kExtensions{".cu", ".ptx", ".cubin", ".sass"};
  if (const auto id = trial_number(target)) return inspect_trial(options, *id);
  const std::string extension = fs::path(target).extension().string();
  if (std::ranges::find(kExtensions, extension) != kExtensions.end()) {
    return inspect_file(options, target);
  }
  if (const auto named = named_config(target)) {
    return inspect_config(options, named->kernel, named->config, options.arch, nullptr);
  }
  throw UsageError(
      "expected a trial's number, a configuration such as sgemm:TILE=8,..., or a file that ends in "
      ".cu, .ptx, .cubin or .sass, found \"{}\"",
      target);
}

Subject inspect_one(const InspectOptions& options, const std::string& target) {
  Subject subject = find_subject(options, target);
  if (subject.inspected.code.functions.empty()) {
    throw UsageError("{}: no code; a kernel begins with extern \"C\" __global__ void",
                     subject.inspected.title);
  }
  return subject;
}

/// A table of the parameters in which two configurations of one kernel differ.
std::string parameters_text(const Subject& before, const Subject& after) {
  if (before.kernel.empty() || before.kernel != after.kernel) return "";
  Table table({"parameter", ">before", ">after"});
  for (std::size_t i = 0; i < std::min(before.config.size(), after.config.size()); ++i) {
    const auto& [name, value] = before.config[i];
    if (value == after.config[i].second) continue;
    table.add_row({name, to_text(value), to_text(after.config[i].second)});
  }
  return table.empty() ? "" : table.text(stdout_terminal()) + "\n";
}

int run_inspect(const InspectOptions& options) {
  const Subject subject = inspect_one(options, options.target);
  if (!options.output.empty()) {
    const std::string& cubin = subject.inspected.cubin;
    if (cubin.empty()) {
      throw UsageError("{} is code already; --output is of a trial, a configuration or a source",
                       options.target);
    }
    write_file_atomic(options.output, cubin);
  }
  if (options.other.empty()) {
    write_out(options.json      ? document("inspect", inspect_json(subject.inspected))
              : options.listing ? listing_text(subject.inspected)
                                : inspect_text(subject.inspected, stdout_terminal()));
    return kExitDone;
  }
  const Subject other = inspect_one(options, options.other);
  if (subject.inspected.code.set != other.inspected.code.set) {
    throw UsageError("one of the two is PTX and the other SASS; compare like with like");
  }
  write_out(options.json
                ? document("inspect-two", difference_json(subject.inspected, other.inspected))
                : parameters_text(subject, other) +
                      difference_text(subject.inspected, other.inspected, stdout_terminal()));
  return kExitDone;
}

}  // namespace

void add_inspect(Command program) {
  auto [verb, options] = program.add_verb<InspectOptions>(
      "inspect", "what the compiler made of a kernel, or what tells two codes apart", run_inspect);
  verb.add_option("TRIAL|CONFIG|FILE", options->target,
                  "a trial's number, a configuration as KERNEL:NAME=VALUE,..., or a file\n"
                  "Files: .cu, .ptx, .cubin, or .sass as nvdisasm prints it.")
      .required();
  Option other = verb.add_option("OTHER", options->other, "what to compare it with, likewise");
  verb.add_option("--db PATH", options->db,
                  "the database or recording of a trial; default: results/assay.db");
  verb.add_flag("--sass", options->sass,
                "look at the machine code and not at the PTX; needs the toolkit's nvdisasm");
  Option listing = verb.add_flag("--listing", options->listing,
                                 "print the code of one, each instruction with its source");
  verb.add_option("--arch " + known_archs("|"), options->arch,
                  "compile for this one; of a trial its own; default: 90a");
  verb.add_option("--output FILE", options->output,
                  "also write the machine code of one, a cubin for nvdisasm and cuobjdump")
      .excludes(other);
  add_kernel_folders(verb, *options, kFolderOfSweep);
  Option json = verb.add_flag("--json", options->json, "print JSON instead of text");
  listing.excludes(other).excludes(json);
  verb.footer(
      "example: assay inspect 12 15, for two trials of results/assay.db\n"
      "example: assay inspect sgemm:TILE=8,THREADS_M=8,THREADS_N=16,BLOCK_K=8 --listing");
}

}  // namespace assay
