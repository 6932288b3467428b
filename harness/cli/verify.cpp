// `assay verify`: the winners once more, checked harder than a sweep checks.
#include "cli/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "cli/gpu_setup.h"
#include "cli/known_code.h"
#include "cli/verbs.h"
#include "compile/nvrtc_compiler.h"
#include "device/sanitizer.h"
#include "report/entry_json.h"
#include "report/tuned_table.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
/// A winner, under every protocol and objective for which it has won.
struct Winner {
  std::string op;
  DeviceInfo device;
  TunedRow row;
  std::vector<TrialRow> trials;
};

std::string name_of(const TunedRow& row) {
  return fmt::format("{} {} {}", to_text(row.problem), row.best.kernel, to_text(row.best.config));
}

std::vector<Winner> winners_of(const std::vector<TunedTable>& tables, const Store& store) {
  std::map<std::string, Winner> winners;
  for (const TunedTable& table : tables) {
    for (const TunedRow& row : table.entries) {
      const std::string name = fmt::format("{} {} {} {}", name_of(row), table.device.uuid,
                                           row.version.source_hash, row.provenance);
      Winner& winner =
          winners.try_emplace(name, Winner{table.op, table.device, row, {}}).first->second;
      auto trial = store.trial(row.trial_id);
      // It may have been forgotten meanwhile, and have left its number to another.
      if (trial && trial->record.config == row.best.config) {
        winner.trials.push_back(*std::move(trial));
      }
    }
  }
  std::vector<Winner> list;
  for (auto& [name, winner] : winners) list.push_back(std::move(winner));
  return list;
}

/// A winner that was measured elsewhere and imported is verified on any GPU of that model.
bool won_on(const Winner& winner, const DeviceInfo& gpu) {
  return winner.row.provenance.empty() ? winner.device.uuid == gpu.uuid
                                       : winner.device.name == gpu.name;
}

/// Whether a tool of compute-sanitizer found something. Such a finding names no line of the source.
bool a_tool_found(const Verification& verification) {
  return std::ranges::any_of(verification.checks, [](const VerificationCheck& check) {
    return check.result == CheckResult::failed &&
           std::ranges::find(kSanitizerTools, check.name) != std::end(kSanitizerTools);
  });
}

/// What has been said of the winners so far.
class Report {
 public:
  explicit Report(bool json) : json_(json) {}

  void begin(const Winner& winner) {
    if (!json_) print_out("{}\n", name_of(winner.row));
  }
  void tell(const VerificationCheck& check) {
    if (json_) return;
    const std::string message = check.message.substr(0, check.message.find('\n'));
    print_out("  {:<16} {:<8} {}\n", check.name, to_text(check.result), message);
  }
  void add(const Winner& winner, const Verification& verification) {
    any_failed_ = any_failed_ || verification.failure() != nullptr;
    TunedRow row = winner.row;
    row.verification = verification;
    Json object{{"op", winner.op}, {"device", winner.device.name}};
    object.update(entry_json(row));
    winners_.push_back(std::move(object));
  }
  void skip(const Winner& winner, const std::string& why) {
    print_err("{} is not verified: {}\n", name_of(winner.row), why);
    skipped_.push_back({{"op", winner.op},
                        {"problem", problem_json(winner.row.problem)},
                        {"kernel", winner.row.best.kernel},
                        {"config", config_json(winner.row.best.config)},
                        {"reason", why}});
  }
  VerifyReport finish() const {
    if (any_failed_) {
      print_err(
          "what failed does not win again; the same sweep, run once more, ranks the others\n");
    }
    const bool is_good = !any_failed_ && skipped_.empty();
    return {{{"winners", winners_}, {"skipped", skipped_}}, is_good ? kExitDone : kExitNo};
  }

 private:
  bool json_;
  bool any_failed_ = false;
  Json winners_ = Json::array(), skipped_ = Json::array();
};

int run_verify(const VerifyOptions& options) {
  const VerifyReport report = verify_winners(options);
  if (options.json) write_out(document("verify", report.document));
  return report.exit_code;
}

}  // namespace

VerifyReport verify_winners(const VerifyOptions& options) {
  std::vector<Winner> winners;
  fs::path path;
  {
    const Store store = open_results(options.results);
    path = store.path();
    Filter filter = options.results.filter(Status::correct);
    filter.kernel.clear();  // a verdict is of all kernels that competed
    winners = winners_of(tuned_tables(store.results(filter, TunedTrials()), Screened::hide), store);
    std::erase_if(winners, [&](const Winner& winner) {
      return !options.results.kernel.empty() && winner.row.best.kernel != options.results.kernel;
    });
  }
  Store store = Store::open(path);
  Report report(options.json);
  if (winners.empty()) {
    const int exit_code =
        say_none("winner", store, options.results, {}, "; winners of a re-rank are verified");
    return {report.finish().document, exit_code};
  }

  const std::vector<TrialRow>& trials = winners.front().trials;
  const std::string folder =
      kernel_folder(options.kernels, trials.empty() ? "" : trials.front().command_line);
  const std::vector<fs::path> include_directories = include_path(folder, options.include);
  KnownKernels kernels(folder, options.include);
  std::vector<std::pair<const Winner*, const KernelSpec*>> known;
  for (const Winner& winner : winners) {
    if (options.missing && winner.row.verification) continue;
    try {
      const auto& [kernel, version, include] = kernels.find(winner.row.version.name);
      if (version == winner.row.version) {
        known.emplace_back(&winner, &kernel);
      } else {
        report.skip(winner, kernel.yaml_path.string() + " has changed since; sweep it again");
      }
    } catch (const NoKernel& none) {
      report.skip(winner, none.what());
    }
  }
  if (known.empty()) return report.finish();

  NvrtcCompiler compiler({cache_directory()});
  GpuDevice gpu({options.gpu, {}});
  set_up_gpu(gpu, compiler);
  LoneRun lone(gpu, compiler, store,
               {include_directories, native_arch(gpu.info().cc), "assay verify", folder});
  Verifier verifier(lone.run, gpu, options.counts);
  for (const auto& [winner, kernel] : known) {
    if (!won_on(*winner, gpu.info())) {
      if (options.missing) continue;
      report.skip(*winner, fmt::format("it won on another device: {} {}, and this is {} {}",
                                       winner->device.name, winner->device.uuid, gpu.info().name,
                                       gpu.info().uuid));
      continue;
    }
    report.begin(*winner);
    lone.run.versions[kernel->name] = winner->row.version;
    const Verification verification =
        verifier.verify(*kernel, winner->row.problem, winner->row.best.config,
                        [&](const VerificationCheck& check) { report.tell(check); });
    bool stored = !winner->trials.empty();
    for (const TrialRow& trial : winner->trials) {
      stored = store.add_verification(trial, verification) && stored;
    }
    if (!stored) print_err("not stored: {} was forgotten meanwhile\n", name_of(winner->row));
    report.add(*winner, verification);
    if (a_tool_found(verification)) {
      print_err(
          "to look for the same on the emulator, which names lines of the source: "
          "assay check '{}:{}' --kernels '{}'\n",
          kernel->name, to_text(winner->row.best.config), folder);
    }
  }
  return report.finish();
}

void add_verify(Command program) {
  auto [verb, options] = program.add_verb<VerifyOptions>(
      "verify", "check the winners once more, and harder than a sweep does", run_verify);
  add_result_options(verb, options->results,
                     "the database, to which what is found is added; default: results/assay.db");
  verb.add_option("--gpu INDEX", options->gpu, "the GPU to run on; default: 0").between(0);
  add_kernel_folders(verb, *options, kFolderOfSweep);
  verb.add_option("--seeds COUNT", options->counts.seeds,
                  "inputs of so many seeds, each on all kinds of data; default: 16")
      .between(1, 1'000'000);
  verb.add_option("--launches COUNT", options->counts.launches,
                  "so many launches, and pairs of launches at once, each checked; default: 1000")
      .between(1, 100'000'000);
  verb.add_flag("--json", options->json, "print JSON instead of lines");
  verb.footer(
      "example: assay verify --problem M=16 --seeds 100\n"
      "exit code 1 when a check failed or a winner could not be verified");
}

}  // namespace assay
